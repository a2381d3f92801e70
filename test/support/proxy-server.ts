import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

interface ProxyServer {
  readonly host: string;
  /** What it was asked for, such as `CONNECT 127.0.0.1:443`. */
  readonly requests: readonly string[];
  close(): void;
}

/** A proxy for http and https. With `credentials`, such as `user:password`, it refuses requests without them. */
export async function startProxyServer(credentials?: string): Promise<ProxyServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const isAdmitted = (asked: IncomingMessage): boolean => {
    requests.push(`${asked.method} ${asked.url}`);
    return expected === undefined || asked.headers['proxy-authorization'] === expected;
  };
  const server = createServer((asked, response) => {
    if (!isAdmitted(asked)) return response.writeHead(407).end();
    const { method, headers } = asked;
    const forwarded = request(String(asked.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asked.pipe(forwarded);
  });
  server.on('connect', (asked, client: Socket) => {
    if (!isAdmitted(asked)) return client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const { hostname, port } = new URL(`http://${asked.url}`);
    const target = connect(Number(port), hostname, () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    for (const socket of [client, target]) sockets.add(socket.on('error', () => {}));
    client.pipe(target).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
