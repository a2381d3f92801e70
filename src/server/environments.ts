import { ENVIRONMENT_FIELDS } from '../core/schedule/environments.ts';
import type { Principal } from './access.ts';
import { notFound } from './errors.ts';
import { type ApiItem, itemReader } from './item.ts';
import { memoizeLast } from './memoize-last.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** The environments that the source lists and the reader may see. */
export function listEnvironments(view: MirrorSnapshot, { environments }: Principal): ApiItem[] {
  const names = Object.keys(ENVIRONMENT_FIELDS).join(', ');
  const rows = view.rows({
    sql: `select ${names}, extra from environments where missing_since is null order by id`,
    values: {},
  });
  return rows
    .filter((row) => environments === null || environments.has(String(row['id'])))
    .map(itemReader(ENVIRONMENT_FIELDS));
}

/** An environment that the source no longer lists does not exist here either. @throws HttpError 404 */
export function requireEnvironment(view: MirrorSnapshot, env: string): void {
  const known = knownEnvironments(view);
  if (known.has(env)) return;
  const sql = 'select 1 from environments where id = @env and missing_since is null';
  if (view.rows({ sql, values: { env } }).length === 0) throw notFound(`Environment ${env}`);
  known.add(env);
}

/** The environments already found in a state of the mirror. Almost every request looks one up. */
const knownEnvironments = memoizeLast((_: MirrorSnapshot) => new Set<string>());
