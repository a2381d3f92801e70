import { type TcpProxy, tcpProxy } from './tcp-proxy.ts';

/** A way to a server on which connections can be cut, or fall silent. */
export interface CuttingProxy extends TcpProxy {
  /**
   * Cuts the next connection that sends this statement alone, once: before the server gets it, or after it has answered and before the
   * client learns of it.
   * @returns how many were cut
   */
  cut(statement: string, when: 'before' | 'after'): () => number;
  /**
   * Lets all open connections fall silent, as a firewall does that forgot them: nothing passes any more, and neither side is told. New
   * connections work. Called by `onSent`, it is before the server gets what was sent, or after that and before the answer.
   */
  silenceAll(when: 'before' | 'after'): void;
}

/** From a client to the server and back. */
interface Way {
  silentSince: 'before' | 'after' | null;
}

const fellSilent = ({ silentSince }: Way, when: Way['silentSince']): boolean => silentSince === when;

/** `onSent` is called each time that a client sends something, before the server gets it. */
export async function cuttingProxy(serverUrl: string, onSent: () => void = () => {}): Promise<CuttingProxy> {
  let wanted: { readonly message: Buffer; readonly when: 'before' | 'after' } | null = null;
  let cuts = 0;
  const open = new Set<Way>();
  const proxy = await tcpProxy(serverUrl, (client, upstream) => {
    let isAnswerLost = false;
    const way: Way = { silentSince: null };
    open.add(way);
    client.on('close', () => open.delete(way));
    const cut = (): void => {
      cuts += 1;
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (data) => {
      if (way.silentSince !== null) return;
      onSent();
      if (client.destroyed || fellSilent(way, 'before')) return;
      if (wanted !== null && data.includes(wanted.message)) {
        const { when } = wanted;
        wanted = null;
        if (when === 'before') return cut();
        isAnswerLost = true;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (isAnswerLost) cut();
      else if (way.silentSince === null) client.write(data);
    });
  });
  return {
    ...proxy,
    cut(statement, when) {
      // A statement without values goes as a message of its own, with its text.
      wanted = { message: Buffer.from(`${statement}\0`), when };
      return () => cuts;
    },
    silenceAll(when) {
      for (const way of open) way.silentSince ??= when;
    },
  };
}
