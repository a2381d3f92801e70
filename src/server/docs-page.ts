import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { PAGE_POLICY } from './answer-headers.ts';
import { addStaticContent, CACHE_FOREVER, REVALIDATE } from './static-content.ts';

/** The page exchanges data only with its own host. Swagger UI sets styles on its elements. */
const CONTENT_POLICY = {
  'content-security-policy': `default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; ${PAGE_POLICY}`,
};

const START = `addEventListener('load', () => SwaggerUIBundle({ dom_id: '#docs', url: new URL('openapi.json', document.baseURI).href,
  deepLinking: true, validatorUrl: null, presets: [SwaggerUIBundle.presets.apis], layout: 'BaseLayout' }));`;

const [SCRIPT, STYLE] = ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'];

/** Adds `/docs`, a page to browse the OpenAPI document, and its files, whose addresses contain a hash. */
export function addDocsPage(server: FastifyInstance): void {
  const bundle = addFile(server, SCRIPT, swaggerUi('swagger-ui-bundle.js'));
  const style = addFile(server, STYLE, swaggerUi('swagger-ui.css'));
  const start = addFile(server, SCRIPT, () => Buffer.from(START));
  addStaticContent(server, '/docs', {
    type: 'text/html; charset=utf-8',
    headers: { ...CONTENT_POLICY, ...REVALIDATE },
    make: () => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Data observability read API</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="${style}"></head>
<body><div id="docs"></div><script src="${bundle}"></script><script src="${start}"></script></body>
</html>
`,
  });
  server.get('/docs/', { schema: { hide: true } }, (_request, reply) => reply.redirect('../docs'));
}

/** A file of Swagger UI: beside the compiled program, or from its package when running from source. */
function swaggerUi(name: string): () => Buffer {
  const compiled = join(import.meta.dirname, 'docs', name);
  const path = existsSync(compiled) ? compiled : new URL(import.meta.resolve(`@fastify/swagger-ui/static/${name}`));
  return () => readFileSync(path);
}

/** @returns the address of the file, relative to the page, because a proxy may serve the page below another path */
function addFile(server: FastifyInstance, type: string, make: () => Buffer): string {
  const path = `docs/${hash('sha256', make(), 'hex').slice(0, 16)}`;
  addStaticContent(server, `/${path}`, { type, headers: CACHE_FOREVER, make });
  return path;
}
