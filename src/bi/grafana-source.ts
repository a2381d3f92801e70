import { pathToFileURL } from 'node:url';
import { type BiDialect, postgresqlIn, SQLITE } from './dialect.ts';
import type { ToolPlaces } from './tool-places.ts';

/** A Grafana data source plugin, how it reaches the mirror and how to query it. */
export interface MirrorSource {
  readonly plugin: string;
  readonly connection: object;
  readonly dialect: BiDialect;
  /** The query object. */
  readonly target: (sql: string, timeColumns: readonly string[]) => object;
}

export function sourceOf({ mirror, pageUrl }: ToolPlaces): MirrorSource {
  if (mirror.kind === 'file')
    return {
      plugin: 'frser-sqlite-datasource',
      connection: { jsonData: { ...READ_ONLY, path: literal(pathToFileURL(mirror.path).pathname) } },
      // The data source parses RFC 3339 timestamps only, so days get a time.
      dialect: { ...SQLITE, pageUrl, day: (day) => `${day} || 'T00:00:00Z'` },
      target: (sql, timeColumns) => ({ queryType: 'table', queryText: sql, rawQueryText: sql, timeColumns }),
    };
  const { host, username, pathname } = new URL(mirror.display);
  return {
    plugin: 'grafana-postgresql-datasource',
    connection: {
      url: literal(decodeURIComponent(host)),
      user: literal(decodeURIComponent(username)),
      // Grafana takes the values from its environment.
      jsonData: { database: literal(decodeURIComponent(pathname.slice(1))), sslmode: '$PGSSLMODE' },
      secureJsonData: { password: '$PGPASSWORD' },
    },
    dialect: { ...postgresqlIn(mirror.schema), pageUrl },
    target: (sql) => ({ format: 'table', rawQuery: true, rawSql: sql, editorMode: 'code' }),
  };
}

/**
 * SQLite itself opens the file read-only if the path is a URI. The prefix must be `file://`: after `file:` the data
 * source's connection test would take the URI's path for a file name.
 */
const READ_ONLY = { pathPrefix: 'file://', pathOptions: 'mode=ro&_pragma=query_only(1)' };

/** Escapes `$`, which Grafana would expand as a variable in provisioning files. */
export const literal = (text: string): string => text.replaceAll('$', () => '$$');
