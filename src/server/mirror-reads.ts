import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type Database from 'better-sqlite3';
import { EPOCH, type Instant } from '../core/time/instant.ts';
import { isDamage, isReplica, type MirrorFile } from '../destination/sqlite/open.ts';
import type { RowsOf } from '../metrics/measurements.ts';
import type { PageReads } from '../page-data/page-scope.ts';
import type { SqlRow, SqlStatement } from '../page-data/sql.ts';
import { mirrorDamaged } from './errors.ts';
import { createReplacementCheck, fingerprintOf, type MirrorFingerprint, SELECT_STATE } from './replacement-check.ts';

/** The identity and times of a state of the mirror. */
export interface MirrorState {
  /** Changes with every commit, including those of this connection. Valid only within this process. */
  readonly version: string;
  /** The newest clock of all environments. A later commit in any of them has a later `mirrored_at`. */
  readonly now: Instant;
  /** The clock of an environment; `now` if it has none or `env` is undefined. */
  clockOf(env: string | undefined): Instant;
  /** The source's time in the last run (R1); the mirror's time if there was no run. */
  readonly serverTime: Instant;
  readonly cursorKey: KeyObject;
}

/** One state of the mirror. It is the same object until the mirror changes. */
export interface MirrorSnapshot extends MirrorState, PageReads {
  /** Writes to temporary tables. The mirror itself is opened read-only. */
  run(statement: SqlStatement): void;
}

export type MirrorReads = ReturnType<typeof openMirrorReads>;

/** For a mirror whose migration was interrupted before it made a key: cursors are valid within this process. */
export const makeCursorKey = (): string => randomBytes(32).toString('hex');

/**
 * Reads of the mirror, each from one consistent state. Each statement is prepared once. `cursorKey` is used while the
 * mirror has no key.
 */
export function openMirrorReads({ path, connection, prepare }: MirrorFile, cursorKey = makeCursorKey()) {
  connection.exec(CREATE_VISIBILITY_TABLES);
  const ofReplica = isReplica(connection);
  const withDamageErrors = <Found>(read: () => Found): Found => {
    try {
      return read();
    } catch (error) {
      throw isDamage(error) ? mirrorDamaged(ofReplica, error) : error;
    }
  };
  const currentState = createStateReader(
    connection,
    {
      memory: {},
      rows: ({ sql, values }) => withDamageErrors(() => prepare(sql).all(values) as never[]),
      texts: ({ sql, values }) => withDamageErrors(() => prepare(sql).pluck().all(values) as (string | null)[]),
      run: ({ sql, values }) => void withDamageErrors(() => prepare(sql).run(values)),
    },
    cursorKey,
  );
  const inTransaction = connection.transaction((look: (view: MirrorSnapshot) => unknown) =>
    look(currentState().snapshot),
  );
  const checkReplacement = createReplacementCheck(path, currentState);
  const refuseReplaced = (): void => withDamageErrors(checkReplacement);
  const withReplacementCheck = <Found>(read: () => Found): Found => {
    try {
      return withDamageErrors(read);
    } catch (error) {
      refuseReplaced();
      throw error;
    }
  };
  return {
    /**
     * The current state; a commit during the call may give a later state under the previous version.
     * @throws HttpError 503 if the file is damaged, or if it was replaced and cannot be read
     */
    state: (): MirrorState => withReplacementCheck(() => currentState().snapshot),
    /**
     * Call this after a read and before its answer is sent: only then is the answer that of one mirror.
     * @throws HttpError 503 if the file was replaced
     */
    refuseReplaced,
    /** @throws HttpError 503 as `state` does */
    read: <Found>(look: (view: MirrorSnapshot) => Found) => withReplacementCheck(() => inTransaction(look) as Found),
  };
}

export function readSnapshotRows<Statements extends Readonly<Record<string, string>>>(
  view: MirrorSnapshot,
  statements: Statements,
): RowsOf<Statements> {
  const read = Object.entries(statements).map(([name, sql]) => [name, view.rows({ sql, values: {} })]);
  return Object.fromEntries(read) as RowsOf<Statements>;
}

interface CachedState extends MirrorFingerprint {
  readonly snapshot: MirrorSnapshot;
}

/** The snapshot is read again only after a commit, because most requests find the same state as the previous one. */
function createStateReader(
  connection: Database.Database,
  access: Omit<MirrorSnapshot, keyof MirrorState>,
  cursorKey: string,
): () => CachedState {
  const dataVersion = connection.prepare('pragma data_version');
  const totalChanges = connection.prepare('select total_changes() as own');
  const selectState = connection.prepare(SELECT_STATE);
  let cached: CachedState | null = null;
  return () => {
    const [[theirs], [ours]] = [dataVersion.all() as SqlRow[], totalChanges.all() as SqlRow[]];
    const version = `${theirs?.['data_version']} ${ours?.['own']}`;
    if (cached?.snapshot.version === version) return cached;
    const [found] = selectState.all() as SqlRow[];
    const known = fingerprintOf(found);
    const clocks = new Map<string, Instant>(Object.entries(JSON.parse(String(found?.['clocks'] ?? '{}'))));
    // An empty mirror has a time before that of any row.
    const now = [...clocks.values()].reduce((newest, at) => (at > newest ? at : newest), EPOCH);
    const snapshot = {
      ...access,
      version,
      now,
      clockOf: (env = '') => clocks.get(env) || now,
      serverTime: String(found?.['server_time'] ?? now),
      cursorKey: createSecretKey(known.key ?? cursorKey, 'hex'),
    };
    cached = { ...known, snapshot };
    return cached;
  };
}

/** Caches which assets each restricted reader sees, and as of when. `last_use` is a counter, for evictions. */
const CREATE_VISIBILITY_TABLES = `create temp table if not exists visible_assets (reader integer, env_id text, id text,
    primary key (reader, env_id, id)) without rowid;
  create temp table if not exists visible_kept (reader integer, env_id text, at text, last_use integer,
    primary key (reader, env_id)) without rowid`;
