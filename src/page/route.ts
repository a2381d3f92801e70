export const VIEWS = ['mirror', 'failing', 'trends', 'untested', 'asset'] as const;
export type ViewName = (typeof VIEWS)[number];

/** What the page shows. All of it is in the address, so reloading or sharing the address shows the same. */
export interface PageRoute {
  readonly view: ViewName;
  /** Null means the first environment. */
  readonly env: string | null;
  /** Filters, open rows and the like. */
  readonly values: Readonly<Record<string, string>>;
}

/** Parses what follows `#` in an address: `#/failing?env=prod&owner=ana`. Anything unknown leads to the first view. */
export function parseRoute(hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s, 2);
  const view = VIEWS.find((name) => name === path) ?? 'mirror';
  const { env = null, ...values } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>;
  return { view, env, values };
}

/** Null if it is malformed. */
export function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export function formatRoute({ view, env, values }: PageRoute): string {
  const query = new URLSearchParams({ ...(env === null ? {} : { env }), ...values }).toString();
  return query === '' ? `#/${view}` : `#/${view}?${query}`;
}
