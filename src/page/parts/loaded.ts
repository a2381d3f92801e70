import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { component, html } from '../html.ts';

interface LoadedOptions<M> {
  readonly load: () => Promise<M>;
  readonly show: (module: M) => VNode;
}

/** Shows a part of the page whose module is loaded on demand. */
export const loaded = <M>(load: () => Promise<M>, show: (module: M) => VNode): VNode =>
  component<LoadedOptions<M>>(Loaded, { load, show });

function Loaded<M>({ load, show }: LoadedOptions<M>): VNode {
  const [part, setPart] = useState<{ readonly module: M } | null>(null);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    load().then(
      (module) => setPart({ module }),
      () => setLost(true),
    );
  }, []);
  if (part !== null) return show(part.module);
  return html`<p class="faint">${isLost ? 'Part of the page failed to load. Reload the page.' : 'Loading …'}</p>`;
}
