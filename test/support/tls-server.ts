import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { EMPTY_PAGE } from './api-server.ts';

const FOLDER = join(import.meta.dirname, 'tls');

/** The certificate of the authority that issued the server's, which is for 127.0.0.1. Both are valid until 2126. */
export const CA_FILE = join(FOLDER, 'ca.pem');

interface TlsServer {
  readonly port: number;
  /** How many connections were opened. */
  connections(): number;
  close(): void;
}

/** A service with one empty environment. */
export async function startTlsServer(): Promise<TlsServer> {
  const own = readFileSync(join(FOLDER, 'server.pem'));
  let connections = 0;
  const server = createServer({ cert: own, key: own }, ({ url = '' }, response) => {
    const body = url.endsWith('/environments') ? [{ id: 'e1', name: 'Production' }] : EMPTY_PAGE;
    response.end(JSON.stringify(body));
  });
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
