import { signal } from '@preact/signals';
import { formatRoute, type PageRoute, parseRoute } from './route.ts';
import { adoptTokenFromAddress } from './token.ts';

adoptTokenFromAddress();

export const route = signal<PageRoute>(parseRoute(window.location.hash));

window.addEventListener('hashchange', () => {
  adoptTokenFromAddress();
  route.value = parseRoute(window.location.hash);
});

/** Changes values of the route; null removes one. With `isStep`, the history gets an entry that Back undoes. */
export function changeValues(
  changes: Readonly<Record<string, string | null>>,
  { isStep = false }: { readonly isStep?: boolean } = {},
): void {
  const { view, env, values } = route.value;
  const kept = Object.entries({ ...values, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  );
  const next = { view, env, values: Object.fromEntries(kept) };
  const address = formatRoute(next);
  if (isStep) window.history.pushState(null, '', address);
  else window.history.replaceState(null, '', address);
  route.value = next;
}
