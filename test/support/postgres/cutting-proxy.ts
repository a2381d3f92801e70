import { type TcpProxy, tcpProxy } from './tcp-proxy.ts';

/** A way to a server on which connections can be cut. */
export interface CuttingProxy extends TcpProxy {
  /**
   * Cuts the next connection that sends this statement alone, once: before the server gets it, or after it has answered and before the
   * client learns of it.
   * @returns how many were cut
   */
  cut(statement: string, when: 'before' | 'after'): () => number;
}

/** `onSent` is called each time that a client sends something, before the server gets it. */
export async function cuttingProxy(serverUrl: string, onSent: () => void = () => {}): Promise<CuttingProxy> {
  let wanted: { readonly message: Buffer; readonly when: 'before' | 'after' } | null = null;
  let cuts = 0;
  const proxy = await tcpProxy(serverUrl, (client, upstream) => {
    let isAnswerLost = false;
    const cut = (): void => {
      cuts += 1;
      client.destroy();
      upstream.destroy();
    };
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
  return {
    ...proxy,
    cut(statement, when) {
      // A statement without values goes as a message of its own, with its text.
      wanted = { message: Buffer.from(`${statement}\0`), when };
      return () => cuts;
    },
  };
}
