import { statSync } from 'node:fs';
import { counted } from '../core/counted.ts';
import { type SyncError, usageError } from '../core/errors.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { rootToken, type TokenHash } from '../server/access.ts';
import { parseTokens } from '../server/tokens.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import type { ServerLog } from './server-logger.ts';

export const noToken = (why: string): SyncError => usageError(`no token would be accepted: ${why}`);

/** The accepted tokens: an unrestricted one, and those of a JSON file; none until the first `load`. */
export function openTokenStore(
  { token, tokensFile }: { readonly token: string | null; readonly tokensFile: string | null },
  { mirror, log }: { readonly mirror: MirrorFile; readonly log: ServerLog },
) {
  let keys: readonly TokenHash[] = [];
  /** @throws SyncError `usage` if the file cannot be read or no token would be accepted */
  const load = (): void => {
    const root = token === null ? [] : [rootToken('OBSYNC_SERVE_TOKEN', token)];
    const found = tokensFile === null ? root : [...root, ...parseTokens(tokensFile, readTextFile(tokensFile))];
    if (found.length === 0) throw noToken(`${tokensFile} contains no token`);
    const ofFile = tokensFile === null ? [] : warningsOfFile(tokensFile);
    for (const warning of [...ofFile, ...warningsOfLimits(found, mirror)]) log.warn(warning);
    keys = found;
  };
  /** Loads the tokens again. If they are invalid, the error is logged and the old tokens stay. */
  const reload = (): void => {
    try {
      load();
      log.info(`${tokensFile} was reloaded: ${counted(keys.length, 'token')}`);
    } catch (error) {
      log.error(`the tokens were not reloaded: ${(error as Error).message}`);
    }
  };
  return { load, keys: () => keys, reload };
}

const WRITABLE_BY_ALL = 0o002;

/** Warns if every user of this machine can add a token. */
function warningsOfFile(path: string): string[] {
  const open = (statSync(path).mode & WRITABLE_BY_ALL) !== 0;
  return open ? [`every user of this machine can write ${path}: run chmod o-w ${path}`] : [];
}

/** Warns if a token is limited to something that the mirror does not contain: it may see nothing, or too little. */
function warningsOfLimits(keys: readonly TokenHash[], mirror: MirrorFile): string[] {
  const readers = keys.map(({ reader }) => reader);
  const envIds = readers.flatMap(({ environments }) => [...(environments ?? [])]);
  const assetIds = readers.flatMap((reader) => reader.assetIds ?? []);
  const paths = readers.flatMap((reader) => reader.paths ?? []);
  const unknownEnvs = unknownIds(envIds, mirror, 'select id from environments where id in');
  const unknownAssets = unknownIds(assetIds, mirror, SELECT_ASSETS_IN);
  const unknownAtPaths = unknownPaths(paths, mirror);
  return readers.flatMap((reader) => [
    // A token must name an environment by id, not by name.
    ...warning(reader.name, 'environment with the id', reader.environments, unknownEnvs),
    ...warning(reader.name, 'asset with the id', reader.assetIds, unknownAssets),
    ...warning(reader.name, 'asset at the path', reader.paths, unknownAtPaths),
  ]);
}

const SELECT_ASSETS_IN = 'select a.id from environments e join assets a on a.env_id = e.id and a.id in';

function warning(name: string, what: string, named: Iterable<string> | null, unknown: ReadonlySet<string>): string[] {
  const [first, ...others] = [...(named ?? [])].filter((each) => unknown.has(each));
  const more = others.length === 0 ? '' : `, nor ${others.length} more that the token names`;
  return first === undefined ? [] : [`token ${name}: the mirror has no ${what} ${first}${more}`];
}

const trimmed = (path: string): string => path.replace(/\/+$/, '');

/** `selectIn` selects the ids that are in the list after it. */
function unknownIds(ids: readonly string[], { connection }: MirrorFile, selectIn: string): Set<string> {
  const statement = connection.prepare(`${selectIn} (select value from json_each(?))`).pluck();
  const known = new Set(statement.all(JSON.stringify(ids)));
  return new Set(ids.filter((id) => !known.has(id)));
}

/** Reads the paths of all assets until every path is found: no index finds the assets nested under a path. */
function unknownPaths(paths: readonly string[], { connection }: MirrorFile): Set<string> {
  const unknown = new Set(paths.map(trimmed));
  if (unknown.size === 0) return unknown;
  const rows = connection.prepare('select path from assets where path is not null').pluck().iterate();
  for (const path of rows as IterableIterator<string>) {
    for (const ancestor of withAncestors(path)) unknown.delete(ancestor);
    if (unknown.size === 0) break;
  }
  return new Set(paths.filter((path) => unknown.has(trimmed(path))));
}

const withAncestors = (path: string): string[] => path.split('/').map((_, i, names) => names.slice(0, i + 1).join('/'));
