import { pathToFileURL } from 'node:url';
import type { BiDialect } from './dialect.ts';
import type { MirrorLocation } from './tool-places.ts';

/** A Grafana data source plugin and how to query it. */
export interface MirrorSource {
  readonly plugin: string;
  readonly dialect: BiDialect;
  /** The query object. */
  readonly target: (sql: string, timeColumns: readonly string[]) => Readonly<Record<string, unknown>>;
}

/** How the plugin reaches the mirror. */
export function dataSource(mirror: MirrorLocation): object {
  if (mirror.kind === 'file') return { jsonData: { ...READ_ONLY, path: literal(pathToFileURL(mirror.path).pathname) } };
  const { host, username, pathname } = new URL(mirror.display);
  return {
    url: literal(decodeURIComponent(host)),
    user: literal(decodeURIComponent(username)),
    // Grafana takes the values from its environment.
    jsonData: { database: literal(decodeURIComponent(pathname.slice(1))), sslmode: '$PGSSLMODE' },
    secureJsonData: { password: '$PGPASSWORD' },
  };
}

/**
 * SQLite itself opens the file read-only if the path is a URI. The prefix must be `file://`: after `file:` the data
 * source's connection test would take the URI's path for a file name.
 */
const READ_ONLY = { pathPrefix: 'file://', pathOptions: 'mode=ro&_pragma=query_only(1)' };

/** Escapes `$`, which Grafana would expand as a variable in provisioning files. */
export const literal = (text: string): string => text.replaceAll('$', () => '$$');
