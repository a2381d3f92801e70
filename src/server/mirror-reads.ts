import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { EPOCH, type Instant } from '../core/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { mirrorReplaced } from './errors.ts';
import type { SqlRow } from './item.ts';
import { KEPT_TABLES } from './kept-tables.ts';
import type { SqlStatement } from './list-request.ts';

/** The newest time of all runs would stay wrong for good once the source's clock was. */
export const MIRROR = `select cursor_key,
  (select json_group_object(env_id, mirrored_at) from mirror_environments) as clocks,
  (select server_time from sync_runs where server_time is not null order by id desc limit 1) as server_time from mirror`;

/** When a state of the mirror is, and which it is. */
export interface MirrorState {
  /** Another one after every commit, of this connection's own as well; told apart within this process alone. */
  readonly version: string;
  /** The newest clock of all environments: whatever is committed later, in any of them, has a later `mirrored_at`. */
  readonly now: Instant;
  /** The environment's own clock as it was committed; `now` for an environment without one, and for no environment. */
  clockOf(env: string | undefined): Instant;
  /** The source's time in the last run that ended (R1); the mirror's while there is none. */
  readonly serverTime: Instant;
  /** With which cursors are sealed. */
  readonly cursorKey: KeyObject;
}

/** One state of the mirror; the same object for as long as the state lasts. */
export interface MirrorSnapshot extends MirrorState {
  rows(sqlStatement: SqlStatement): SqlRow[];
  /** The rows of a statement of one column of texts: without an object for each. */
  texts(sqlStatement: SqlStatement): (string | null)[];
  /** Writes what is kept beside the mirror, which itself is open for reading alone. */
  run(sqlStatement: SqlStatement): void;
}

/** Reads of the mirror, each from one consistent state; each statement is prepared once. */
export interface MirrorReads {
  /**
   * The state now, or a later one under the version of the one before it.
   * @throws HttpError 503 when another file has taken the place of the mirror
   */
  state(): MirrorState;
  read<Found>(look: (mirrorSnapshot: MirrorSnapshot) => Found): Found;
}

/** For a file whose migration was cut off before it had a key: such cursors do not outlive the process. */
export const makeCursorKey = (): string => randomBytes(32).toString('hex');

/** `cursorKey` serves while the mirror has none. */
export function openMirrorReads({ path, connection, prepare }: MirrorFile, cursorKey = makeCursorKey()): MirrorReads {
  connection.exec(KEPT_TABLES);
  const view = viewOf(
    connection,
    {
      rows: ({ sql, values }) => prepare(sql).all(values) as SqlRow[],
      texts: ({ sql, values }) => prepare(sql).pluck().all(values) as (string | null)[],
      run: ({ sql, values }) => void prepare(sql).run(values),
    },
    cursorKey,
  );
  const inTransaction = connection.transaction((look: (mirrorSnapshot: MirrorSnapshot) => unknown) => look(view()));
  const refuseReplaced = replacementCheck(path);
  return {
    state() {
      refuseReplaced();
      return view();
    },
    read: <Found>(look: (mirrorSnapshot: MirrorSnapshot) => Found) => inTransaction(look) as Found,
  };
}

/** Refuses every request once another file has taken the place of the open one. @throws HttpError 503 */
function replacementCheck(path: string): () => void {
  const identity = (): string => {
    const { dev, ino } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {};
    return `${dev} ${ino}`;
  };
  const opened = identity();
  return () => {
    if (identity() !== opened) throw mirrorReplaced();
  };
}

/** Made anew only where something was committed: most requests find the state as the one before them. */
function viewOf(
  connection: Database.Database,
  ways: Pick<MirrorSnapshot, 'rows' | 'texts' | 'run'>,
  cursorKey: string,
): () => MirrorSnapshot {
  const committed = connection.prepare('pragma data_version');
  const own = connection.prepare('select total_changes() as own');
  let kept: MirrorSnapshot | null = null;
  return () => {
    const [[theirs], [ours]] = [committed.all() as SqlRow[], own.all() as SqlRow[]];
    const version = `${theirs?.['data_version']} ${ours?.['own']}`;
    if (kept?.version === version) return kept;
    const [mirror] = ways.rows({ sql: MIRROR, values: {} });
    const clocks = new Map<string, Instant>(Object.entries(JSON.parse(String(mirror?.['clocks'] ?? '{}'))));
    // In a mirror that nothing was ever written to, a time before any that a reader may have to be told of.
    const now = [...clocks.values()].reduce((newest, at) => (at > newest ? at : newest), EPOCH);
    kept = {
      ...ways,
      version,
      now,
      clockOf: (env = '') => clocks.get(env) || now,
      serverTime: String(mirror?.['server_time'] ?? now),
      cursorKey: createSecretKey(String(mirror?.['cursor_key'] ?? cursorKey), 'hex'),
    };
    return kept;
  };
}
