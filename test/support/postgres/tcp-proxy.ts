import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy with its own address in front of a server. */
export interface TcpProxy {
  readonly url: string;
  /** Cuts every open connection. */
  cutAll(): void;
  close(): Promise<void>;
}

/** `join` forwards data between a client and its connection to the server. When one ends, so does the other. */
export async function tcpProxy(serverUrl: string, join: (client: Socket, upstream: Socket) => void): Promise<TcpProxy> {
  const server = new URL(serverUrl);
  const open = new Set<Socket>();
  const proxy = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(server.port || 5432), host: server.hostname, noDelay: true });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    join(client, upstream);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const cutAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: url.href,
    cutAll,
    async close() {
      cutAll();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
