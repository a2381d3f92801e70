import Database from 'better-sqlite3';
import { loadCheckpoints } from '../../../state/checkpoint-store.ts';
import type { CheckpointOf } from '../../core/checkpoint.ts';
import type { Backlog, Commit, Destination } from '../../core/ports/destination.ts';
import type { DryRunMirror } from '../../core/ports/dry-run-mirror.ts';
import type { Stream, StreamName } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import { firstKey, tableOf, whereLive } from '../sql/conditions.ts';
import { quote, tableSqlOf } from '../sql/tables.ts';
import { closeFile, orClose } from './close.ts';
import { createSqliteDestination } from './destination.ts';
import { perform, sqliteScope } from './driver.ts';
import { expectedRows } from './expected.ts';
import { attempt } from './file-error.ts';
import { migrateFile } from './migrations.ts';
import { type MirrorFile, mirrorExists, mirrorOn, openForReading } from './open.ts';
import { fileState } from './open-state.ts';
import { createWorkTables } from './temporary-tables.ts';

/**
 * Opens a mirror for a dry run, which reads the file as it is now and keeps its writes in memory. Without a file, the
 * mirror is empty. The file is neither locked nor written.
 * @throws SyncError `usage`
 */
export function openForDryRun(path: string): MirrorFile {
  if (!mirrorExists(path)) {
    const empty = mirrorOn(new Database(':memory:'), ':memory:');
    migrateFile(empty.connection);
    createWorkTables(empty.connection);
    return empty;
  }
  const mirror = openForReading(path);
  const { connection } = mirror;
  return orClose(mirror, closeFile, () =>
    attempt(path, () => {
      connection.pragma('temp_store = memory');
      // One consistent state of the file, whatever a run writes meanwhile.
      connection.exec('begin');
      for (const name of STATE) shadow(mirror, name, '');
      shadow(mirror, 'sync_stream_runs', OPEN_CYCLES);
      connection.exec('create index temp.by_stream on sync_stream_runs (env_id, stream, run_id)');
      connection.exec(LAST_RUNS);
      for (const name of scratchTables(mirror)) shadow(mirror, name, 'where false');
      createWorkTables(connection);
      return mirror;
    }),
  );
}

/** The tables that a run writes, apart from the mirrored rows. */
const STATE = [
  ...['environments', 'mirror', 'mirror_environments', 'sync_runs', 'sync_checkpoints', 'marks', 'held_removals'],
  ...['rejected_rows', 'test_readings', 'test_execution_gaps', 'history_failures', 'stale_health_days'],
];

/** The rows that decide whether a run continues a cycle (`joinCycle`), from the oldest cycle that may continue. */
const OPEN_CYCLES = `where run_id >= (select min(cycle_id) from main.sync_runs where left_over is not null
  and julianday(started_at) > (select max(julianday(started_at)) from main.sync_runs) - 2)`;

/** The last row of each stream, which decides the order of environments. */
const LAST_RUNS = `insert or ignore into temp.sync_stream_runs
  select s.* from main.sync_checkpoints c join main.sync_stream_runs s on s.env_id = c.env_id and s.stream = c.stream
    and s.run_id = (select max(t.run_id) from main.sync_stream_runs t where t.env_id = c.env_id and t.stream = c.stream)`;

/** Tables of seen keys, staged rows and list lengths. A dry run's are empty; `expectedRows` reads those of `main`. */
function scratchTables({ connection }: MirrorFile): string[] {
  const staged = connection.prepare(`select name from main.sqlite_schema where type = 'table' and name like '%\\_staged'
    escape '\\'`);
  return ['seen_pages', 'list_lengths', ...(staged.pluck().all() as string[])];
}

/** Hides a table of the file behind a temporary one with the same name, so writes go to memory. */
function shadow({ connection }: MirrorFile, name: string, where: string): void {
  const made = connection.prepare("select sql from main.sqlite_schema where type = 'table' and name = ?").pluck();
  connection.exec(String(made.get(name)).replace(/^CREATE TABLE/i, 'CREATE TEMP TABLE'));
  connection.exec(`insert into temp.${quote(name)} select * from main.${quote(name)} ${where}`);
}

/** @param mirror opened by `openForDryRun` */
export function createDryRunMirror(mirror: MirrorFile, clock: () => Instant): DryRunMirror {
  const stored = new Map<string, CheckpointOf>();
  const storedOf = (envId: string): CheckpointOf => {
    const known = stored.get(envId) ?? perform(mirror.prepare, loadCheckpoints(envId));
    stored.set(envId, known);
    return known;
  };
  return {
    state: fileState(mirror, clock),
    destination(envId, run) {
      storedOf(envId);
      return destinationOf(mirror, { envId, run, clock });
    },
    async expected(envId, stream, request, now) {
      const read = { ...sqliteScope(mirror, envId), stream, query: request.query, stored: storedOf(envId), now };
      return perform(mirror.prepare, expectedRows(read, request));
    },
    async refused(envId, stream) {
      const status = mirror.connection.prepare(LAST_STATUS).pluck().get(envId, stream.name);
      if (status === 'denied') return 'forbidden';
      return storedOf(envId)(stream.name).unavailable ? 'not-live' : null;
    },
  };
}

/** The status in the last run that sent a request and got a response. */
const LAST_STATUS = `select status from main.sync_stream_runs
  where env_id = ? and stream = ? and requests > 0 and status <> 'stopped' order by run_id desc limit 1`;

/** The source equals the mirror: scans miss no row, none is removed, and held-back rows are still missing (R14). */
function destinationOf(mirror: MirrorFile, options: Parameters<typeof createSqliteDestination>[1]): Destination {
  const real = createSqliteDestination(mirror, options);
  const released = new Set<StreamName>();
  const held = (stream: Stream, list: string, after: string): string[] =>
    heldIds(mirror, options.envId, { stream, list, after });
  return {
    ...real,
    backlog: async (stream, query) => {
      const { about, after } = query;
      if (about === 'candidates' && stream.staged === undefined)
        return { ids: held(stream, stream.name, after), weighed: null };
      if (about === 'unshown' && stream.staged !== undefined) {
        // The run looks up held-back rows of the parent's list that have edges, to see whether they are visible (R18).
        const parents = query.mode === 'scan' ? held(stream, tableSqlOf(stream.parentTable?.table).name, after) : [];
        // No column loses its last edge, so a scan looks up the same marked columns as any other round.
        const ofMarks = (from: string) => real.backlog(stream, { ...query, mode: 'marked', after: from });
        const marked = await edgeless(mirror, options.envId, { stream, after }, ofMarks);
        // Either list may have more ids behind its end.
        const ends = [parents, marked].filter((ids) => ids.length > 0).map((ids) => ids.at(-1) as string);
        const ids = [...new Set([...parents, ...marked])].sort();
        return { ids: ids.filter((id) => ends.every((end) => id <= end)), weighed: null };
      }
      // The source is expected to return every row, and rows returned by the feed are not looked up again (R18, R22).
      const isShown = about === 'candidates' || about === 'unshown' || (about === 'marked' && query.before === null);
      return isShown ? { ids: [], weighed: null } : real.backlog(stream, query);
    },
    async commit(stream, commit, marking) {
      if (commit.kind === 'round-end' && commit.roundEnd.isReleased) released.add(stream.name);
      return real.commit(stream, withoutRemovals(commit), marking);
    },
    // The rows stay in the mirror, but would no longer be held back (R14).
    async outstanding(stream) {
      const counts = await real.outstanding(stream);
      return released.has(stream.name) ? { ...counts, heldRemovals: 0 } : counts;
    },
    // It takes no request.
    renewDay: async () => null,
    pruneHistory: async () => null,
  };
}

function withoutRemovals(commit: Commit): Commit {
  if (commit.kind === 'round-end') {
    const kept = { sweep: null, replace: null, isReleased: false, isWhole: false };
    return { ...commit, roundEnd: { ...commit.roundEnd, ...kept } };
  }
  if (commit.kind !== 'page') return commit;
  const { sweptRows: _, ...others } = commit;
  return others;
}

/** The next marked columns without edges, which no read of lineage returns. */
async function edgeless(
  { connection }: MirrorFile,
  envId: string,
  { stream, after }: { stream: Stream; after: string },
  backlogAfter: (after: string) => Promise<Backlog>,
): Promise<readonly string[]> {
  const sql = `select 1 from ${tableOf(stream)} where env_id = ? and ${firstKey(stream)} = ? limit 1`;
  const edges = connection.prepare(sql).pluck();
  for (let last = after; ; ) {
    const { ids } = await backlogAfter(last);
    const found = ids.filter((id) => edges.get(envId, id) === undefined);
    if (found.length > 0 || ids.length === 0) return found;
    last = ids.at(-1) as string;
  }
}

/** The next held-back rows of a list that have live rows in the table of the stream. */
function heldIds(
  { connection }: MirrorFile,
  envId: string,
  { stream, list, after }: { stream: Stream; list: string; after: string },
): string[] {
  const sql = `select h.key_1 from held_removals h where h.env_id = ? and h.stream = ? and h.key_1 > ? and exists (
      select 1 from ${tableOf(stream)} t
      where t.env_id = h.env_id and t.${firstKey(stream)} = h.key_1 and ${whereLive(stream)})
    order by h.key_1 limit 1000`;
  return connection.prepare(sql).pluck().all(envId, list, after) as string[];
}
