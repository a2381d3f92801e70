import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import type { OwnServer } from './server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Returns the address of the server that all tests share. */
    postgres: string;
  }
}

/** Starts one PostgreSQL server for all test files on first use, and removes it at the end. */
export default async function sharedServer(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<OwnServer> | null = null;
  const start = async (): Promise<OwnServer> => (await import('./server.ts')).startServer();
  const listener = createServer((_, response) => {
    server ??= start();
    // A kept-alive connection may close just when a test sends its next request.
    response.setHeader('connection', 'close');
    server.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  project.provide('postgres', `http://127.0.0.1:${(listener.address() as AddressInfo).port}`);
  return async () => {
    await new Promise((resolve) => listener.close(resolve));
    await (await server?.catch(() => null))?.remove();
  };
}
