import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { component, html } from '../html.ts';

interface LoadedOptions<M> {
  readonly load: () => Promise<M>;
  readonly show: (module: M) => VNode;
}

/** Shows what needs a part of the page that is loaded only where it is needed. */
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
  return html`<p class="faint">${isLost ? 'A part of the page cannot be loaded. Reload the page.' : 'Loading …'}</p>`;
}
