import { statSync } from 'node:fs';
import { environments } from '../../schema/assets.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import type { TokenHash } from '../server/access.ts';

const WRITABLE_BY_ALL = 0o002;

/** Warns if every user of this machine can add a token. */
export function warningsOfFile(path: string): string[] {
  const open = (statSync(path).mode & WRITABLE_BY_ALL) !== 0;
  return open ? [`every user of this machine can write ${path}: run chmod o-w ${path}`] : [];
}

/** Warns if a token is limited to something that the mirror does not contain: it may see nothing, or too little. */
export function warningsOfLimits(keys: readonly TokenHash[], mirror: MirrorFile): string[] {
  const readers = keys.map(({ reader }) => reader);
  const unknown = {
    environments: unknownEnvironments(new Set(readers.flatMap((reader) => [...(reader.environments ?? [])])), mirror),
    assets: unknownAssets(new Set(readers.flatMap(({ assetIds }) => assetIds ?? [])), mirror),
    paths: unknownPaths(new Set(readers.flatMap(({ paths }) => (paths ?? []).map(trimmed))), mirror),
  };
  return readers.flatMap(({ name, environments: ids, assetIds, paths }) => [
    ...warning(
      name,
      'environment with the id',
      [...(ids ?? [])].filter((id) => unknown.environments.has(id)),
    ),
    ...warning(
      name,
      'asset with the id',
      (assetIds ?? []).filter((id) => unknown.assets.has(id)),
    ),
    ...warning(
      name,
      'asset at the path',
      (paths ?? []).filter((path) => unknown.paths.has(trimmed(path))),
    ),
  ]);
}

function warning(name: string, what: string, [first, ...others]: readonly string[]): string[] {
  const more = others.length === 0 ? '' : `, nor ${others.length} more that the token names`;
  return first === undefined ? [] : [`token ${name}: the mirror has no ${what} ${first}${more}`];
}

const trimmed = (path: string): string => path.replace(/\/+$/, '');

const without = (all: ReadonlySet<string>, known: ReadonlySet<string>): Set<string> =>
  new Set([...all].filter((id) => !known.has(id)));

/** A token must name an environment by id, not by name. */
function unknownEnvironments(ids: ReadonlySet<string>, { db }: MirrorFile): Set<string> {
  const known = db.select({ id: environments.id }).from(environments).all();
  return without(ids, new Set(known.map(({ id }) => id)));
}

function unknownAssets(ids: ReadonlySet<string>, { connection }: MirrorFile): Set<string> {
  const sql =
    'select a.id from environments e join assets a on a.env_id = e.id and a.id in (select value from json_each(?))';
  const known = connection
    .prepare(sql)
    .pluck()
    .all(JSON.stringify([...ids])) as string[];
  return without(ids, new Set(known));
}

/** Reads the paths of all assets until every path is found: no index finds the assets nested under a path. */
function unknownPaths(paths: ReadonlySet<string>, { connection }: MirrorFile): Set<string> {
  const unknown = new Set(paths);
  if (unknown.size === 0) return unknown;
  const rows = connection.prepare('select path from assets where path is not null').pluck().iterate();
  for (const path of rows as IterableIterator<string>) {
    for (const ancestor of withAncestors(path)) unknown.delete(ancestor);
    if (unknown.size === 0) break;
  }
  return unknown;
}

const withAncestors = (path: string): string[] => path.split('/').map((_, i, names) => names.slice(0, i + 1).join('/'));
