import { type TcpProxy, tcpProxy } from './tcp-proxy.ts';

/** A proxy that can cut connections or make them silent. */
export interface CuttingProxy extends TcpProxy {
  /**
   * Cuts the next connection that sends exactly this statement, once: before the server receives it, or after it
   * replied and before the client receives the reply.
   * @returns how many were cut
   */
  cut(statement: string, when: 'before' | 'after'): () => number;
  /**
   * Makes all open connections silent, like a firewall that forgot them: nothing passes and neither side notices. New
   * connections work. Called from `onSent`, it takes effect before the server receives the message, or before its
   * reply.
   */
  silenceAll(when: 'before' | 'after'): void;
}

/** One connection from a client to the server. */
interface Way {
  silentSince: 'before' | 'after' | null;
}

const fellSilent = ({ silentSince }: Way, when: Way['silentSince']): boolean => silentSince === when;

/** `onSent` is called whenever a client sends something, before the server receives it. */
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
      // A statement without values is a separate message that contains its text.
      wanted = { message: Buffer.from(`${statement}\0`), when };
      return () => cuts;
    },
    silenceAll(when) {
      for (const way of open) way.silentSince ??= when;
    },
  };
}
