import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server on which connections can be cut. */
export interface CuttingProxy {
  readonly url: string;
  /**
   * Cuts the next connection that sends this statement alone, once: before the server gets it, or after it has answered and before the
   * client learns of it.
   * @returns how many were cut
   */
  cut(statement: string, when: 'before' | 'after'): () => number;
  /** Cuts every connection that is open. */
  cutAll(): void;
  close(): Promise<void>;
}

/** `onSent` is called each time that a client sends something, before the server gets it. */
export async function cuttingProxy(serverUrl: string, onSent: () => void = () => {}): Promise<CuttingProxy> {
  const server = new URL(serverUrl);
  const open = new Set<Socket>();
  let wanted: { readonly message: Buffer; readonly when: 'before' | 'after' } | null = null;
  let cuts = 0;
  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port || 5432), server.hostname);
    let isAnswerLost = false;
    const cut = (): void => {
      cuts += 1;
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (data) => {
      onSent();
      if (client.destroyed) return;
      if (wanted !== null && data.includes(wanted.message)) {
        const { when } = wanted;
        wanted = null;
        if (when === 'before') return cut();
        isAnswerLost = true;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => (isAnswerLost ? cut() : client.write(data)));
  });
  const cutAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    cut(statement, when) {
      // A statement without values goes as a message of its own, with its text.
      wanted = { message: Buffer.from(`${statement}\0`), when };
      return () => cuts;
    },
    cutAll,
    async close() {
      cutAll();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
