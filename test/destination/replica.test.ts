import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { copyMirror } from '../../src/destination/copy-mirror.ts';
import { followReplica, type ReplicaEvent } from '../../src/destination/follow-replica.ts';
import { withMirrorFile } from '../../src/destination/mirror-file.ts';
import type { MirrorStore } from '../../src/destination/mirror-store.ts';
import { type RefreshReport, refreshReplica } from '../../src/destination/refresh-replica.ts';
import type { ReplicaSource } from '../../src/destination/sql/copied-tables.ts';
import { openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { loadStore } from '../../src/destination/stores.ts';
import { addressOf } from '../../src/settings/addresses/mirror-address.ts';
import { takeLock } from '../../state/lock.ts';
import { damageTable } from '../support/damage-table.ts';
import { allRows, fillAllTables } from '../support/filled-mirror.ts';
import { type TestSchema, testSchema } from '../support/postgres.ts';
import { testFolder } from '../support/test-folder.ts';

const clock = () => '2026-11-20T04:00:00.000000Z';
const NEVER = new AbortController().signal;
const WATCH = { signal: NEVER, onProgress: () => {} };

const store = (address: string): Promise<MirrorStore> => loadStore(addressOf(address), clock);

let schema: TestSchema;
let source: ReplicaSource;
let place: { path: string; isOwn: boolean };

/** Each schema is a mirror with every kind of value in every table, and with two environments that have commits. */
async function filledSchema(): Promise<TestSchema> {
  const path = join(testFolder(), 'm.db');
  const { connection } = openForWriting(path);
  fillAllTables(connection, () => 30);
  connection.close();
  const filled = await testSchema();
  await copyMirror(await store(path), await store(filled.url), WATCH);
  return filled;
}

beforeAll(async () => {
  schema = await filledSchema();
});
afterAll(() => schema.drop());

beforeEach(async () => {
  place = { path: join(testFolder(), 'replica.db'), isOwn: false };
  source = await openSource(schema.url);
  await schema.ask(`delete from mirror_environments;
    insert into mirror_environments (env_id, mirrored_at) values ('e1', '2026-11-20T04:00:00Z'), ('e2', '2026-11-20T04:00:00Z')`);
  await schema.ask(`delete from asset_lineage; insert into asset_lineage (env_id, upstream_asset_id, downstream_asset_id, mirrored_at)
    select e, 'up', 'down' || n, '2026-11-20T03:00:00Z' from unnest(array['e1', 'e2']) e, generate_series(1, 5) n`);
});

async function openSource(url: string): Promise<ReplicaSource> {
  const { openReplicaSource } = await store(url);
  if (openReplicaSource === null) throw new Error('a mirror in PostgreSQL has replicas');
  const opened = await openReplicaSource();
  onTestFinished(() => opened.close());
  return opened;
}

const refresh = (from = source): Promise<RefreshReport> => refreshReplica(from, place, { signal: NEVER });

/** Changes the mirror as a commit to an environment does. */
const commit = (envId: string, sql: string) =>
  schema.ask(`begin; update mirror_environments set mirrored_at = mirrored_at + interval '1 s' where env_id = '${envId}';
    ${sql.includes('delete') ? `update mirror_environments set rows_removed_at = mirrored_at where env_id = '${envId}';` : ''}
    ${sql.replaceAll('NOW', `(select mirrored_at from mirror_environments where env_id = '${envId}')`)}; commit`);

/** Expects every table of the replica to equal a fresh copy's. */
async function expectEqual(url = schema.url): Promise<void> {
  const copied = join(testFolder(), 'copy.db');
  await copyMirror(await store(url), await store(copied), WATCH);
  expect(rowsOf(place.path)).toEqual(rowsOf(copied));
}

function rowsOf(path: string): Record<string, unknown[]> {
  const { connection } = openForReading(path);
  try {
    return allRows(connection);
  } finally {
    connection.close();
  }
}

describe('a replica of a mirror in PostgreSQL', () => {
  test('equals it in every table, whatever the values are, and a refresh without changes reads no row', async () => {
    expect(await refresh()).toMatchObject({ isWhole: true });
    await expectEqual();
    expect(await refresh()).toEqual({ rows: 0, isWhole: false });
  });

  test('reads only the changed rows, and deletes those that are gone (R21)', async () => {
    await refresh();
    await commit(
      'e1',
      `update asset_lineage set upstream_asset_id = 'other', mirrored_at = NOW where env_id = 'e1' and downstream_asset_id = 'down1';
      delete from asset_lineage where env_id = 'e1' and downstream_asset_id = 'down2'`,
    );
    // The edge, and the clock of its environment.
    expect(await refresh()).toEqual({ rows: 2, isWhole: false });
    await expectEqual();
  });

  test('loses the edges of a column whose edges were replaced, and of one that was deleted (R18, R21)', async () => {
    onTestFinished(async () => void (await schema.ask("delete from columns where id like 'edge %'")));
    await schema.ask(`delete from column_lineage; insert into columns (env_id, id, asset_id, mirrored_at)
        select 'e1', 'edge ' || n, 'a', '2026-11-20T03:00:00Z' from generate_series(1, 4) n;
      insert into column_lineage (env_id, upstream_column_id, downstream_column_id, mirrored_at)
        select 'e1', 'edge ' || n, 'edge ' || n + 1, '2026-11-20T03:00:00Z' from generate_series(1, 3) n`);
    await refresh();
    await commit(
      'e1',
      `delete from column_lineage where env_id = 'e1' and downstream_column_id in ('edge 2', 'edge 4');
      update columns set mirrored_at = NOW where env_id = 'e1' and id = 'edge 2';
      update columns set mirrored_at = NOW, deleted_at = NOW, deletion = 'tombstone' where env_id = 'e1' and id = 'edge 3'`,
    );
    await refresh();
    await expectEqual();
  });

  test('follows state that changes without a commit to an environment, such as a delivered alert', async () => {
    await refresh();
    await schema.ask(
      'update alert_deliveries set delivered_at = now(); delete from marks; update mirror set quota_limit = 7',
    );
    expect(await refresh()).toMatchObject({ isWhole: false });
    await expectEqual();
  });

  test('reads only the changed rows of the log of runs, and deletes pruned ones', async () => {
    const [log, end] = ["'feed', 'increment', 'done', 0, 0, 0, 0, 0, 0, now(), now()", "'done', now()"];
    const columns = 'mode, reason, status, requests, pages, rows_written, rows_deleted, rows_rejected, rows_late';
    const add = (runs: string) =>
      schema.ask(`insert into sync_runs (id, cycle_id, status, started_at) select run, run, ${end} from ${runs} run;
        insert into sync_stream_runs (run_id, env_id, stream, ${columns}, started_at, ended_at)
          select run, 'e1', 'assets', ${log} from ${runs} run`);
    await add('generate_series(1000, 1999)');
    await schema.ask("update sync_runs set status = 'running' where id in (1500, 1998)");
    // Transactions of other tests, open since before these rows were written, would have them read again.
    const ended = `select (pg_snapshot_xmin(pg_current_snapshot())::text::bigint > max(x::text::bigint))::int as ended
      from (select xmin from sync_runs union all select xmin from sync_stream_runs) written (x)`;
    const allEnded = () =>
      expect
        .poll(async () => Number((await schema.ask(ended))[0]?.['ended']), { interval: 5, timeout: 60_000 })
        .toBe(1);
    await allEnded();
    await refresh();
    await schema.ask('update sync_stream_runs set pages = 7 where run_id = 1998');
    await allEnded();
    expect(await refresh()).toEqual({ rows: 1, isWhole: false });
    await add('generate_series(2000, 2001)');
    expect(await refresh()).toEqual({ rows: 4, isWhole: false });
    await allEnded();
    await schema.ask("update sync_runs set status = 'done' where id = 1998");
    // Of run 1001, the last row of its stream stays.
    await schema.ask(`delete from sync_runs where id in (1000, 1001, 1003);
      delete from sync_stream_runs where run_id in (1000, 1003)`);
    expect(await refresh()).toMatchObject({ isWhole: false });
    await expectEqual();
  });

  test('deletes what a pruning removed from a history, and reads no history for it (R17)', async () => {
    await schema.ask(`delete from pruned_history; delete from asset_health_score_history;
      insert into asset_health_score_history (env_id, asset_id, dimension, bucket_at, score, test_count, mirrored_at)
      select 'e1', 'a', 'total', '2026-11-01T00:00:00Z'::timestamptz + n * interval '1 h', 1, 1, '2026-11-20T03:00:00Z' from generate_series(0, 99) n`);
    await refresh();
    await commit(
      'e1',
      `delete from asset_health_score_history where env_id = 'e1' and bucket_at < '2026-11-02T00:00:00Z' and extract(hour from bucket_at) < 23;
      insert into pruned_history (env_id, history, action, complete_before, pruned_through, row_count, mirrored_at)
        values ('e1', 'asset_health_score_history', 'thin', '2026-11-02T00:00:00Z', '', 23, NOW)`,
    );
    expect(await refresh()).toEqual({ rows: 2, isWhole: false });
    await expectEqual();
  });

  test.each([
    ['has another key, as one that was created again', 'update mirror set cursor_key = md5(cursor_key)'],
    [
      'has an earlier clock, as one that was restored',
      "update mirror_environments set mirrored_at = '2026-11-20T03:59:59Z'",
    ],
  ])('is read again as a whole if the mirror %s', async (_, change) => {
    await refresh();
    await schema.ask(change);
    expect(await refresh()).toMatchObject({ isWhole: true });
    await expectEqual();
  });

  test.each([
    ['is not read again as a whole after a run that was refused, whose entry is gone from the log', false],
    ['is read again as a whole if the mirror lost a run that had joined a cycle, as one that was restored', true],
  ])('%s', async (_, isLost) => {
    const mirror = await (await store(schema.url)).open(NEVER);
    onTestFinished(() => mirror.close());
    const id = await mirror.state.beginRun(clock(), 'sync');
    const options = { now: clock(), full: false, fullEvery: 'auto', envIds: [], streams: [], selected: [] };
    if (isLost) await mirror.state.joinCycle({ id, ...options });
    await refresh();
    await mirror.state.forgetRun(id);
    expect(await refresh()).toMatchObject({ isWhole: isLost });
    await expectEqual();
  });

  test('a replica of another mirror is read again as a whole', async () => {
    await refresh();
    const other = await filledSchema();
    onTestFinished(() => other.drop());
    expect(await refresh(await openSource(other.url))).toMatchObject({ isWhole: true });
    await expectEqual(other.url);
  });

  test.each([
    ['truncated', () => truncateSync(place.path, 40_960)],
    ['damaged in its middle', () => damageFrom(8192)],
    ['of another version of obsync', () => inReplica('update __drizzle_migrations set created_at = created_at - 1')],
    ['without its state', () => inReplica('delete from replica')],
  ])('is made again if it is %s', async (_, damage) => {
    await refresh();
    damage();
    // Reads every table, so the damage is met.
    await schema.ask('update mirror set cursor_key = md5(cursor_key)');
    expect(await refresh()).toMatchObject({ isWhole: true });
    await expectEqual();
    expect(await refresh()).toEqual({ rows: 0, isWhole: false });
  });

  test('is made again when a follower starts if a page is damaged that no refresh reads', async () => {
    await refresh();
    damageTable(place.path, 'assets');
    const stop = new AbortController();
    const events: ReplicaEvent[] = [];
    await followReplica(
      await store(schema.url),
      { replica: place.path },
      {
        signal: stop.signal,
        onProgress(event) {
          events.push(event);
          stop.abort();
        },
      },
    );
    expect(events).toMatchObject([{ type: 'refreshed', isWhole: true }]);
    await expectEqual();
  });

  test('keeps changes in its log while it is followed, and is complete without the log afterwards', async () => {
    await refresh();
    const log = `${place.path}-wal`;
    const stop = new AbortController();
    const logs: number[] = [];
    const mirror = await store(schema.url);
    const changes = ['update mirror set quota_limit = 8', 'update mirror set quota_limit = 9'];
    let changed: Promise<unknown> = Promise.resolve();
    await followReplica(
      mirror,
      { replica: place.path },
      {
        signal: stop.signal,
        onProgress({ rows }: ReplicaEvent & { rows?: number }) {
          if (rows !== 0) logs.push(statSync(log).size);
          const change = changes.shift();
          if (change === undefined) stop.abort();
          else changed = schema.ask(change);
        },
      },
    );
    await changed;
    expect(logs).toHaveLength(2);
    expect(Math.min(...logs)).toBeGreaterThan(0);
    expect(existsSync(log)).toBe(false);
    await expectEqual();
  });

  test('is made again even if it is no database, in the place that obsync chose', async () => {
    writeFileSync(place.path, 'x'.repeat(10_000));
    place = { ...place, isOwn: true };
    expect(await refresh()).toMatchObject({ isWhole: true });
    await expectEqual();
  });

  test('never replaces a file that is not a replica', async () => {
    writeFileSync(place.path, 'a text of mine');
    await expect(refresh()).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('not a replica'),
    });
    expect(readFileSync(place.path, 'utf8')).toBe('a text of mine');
    place = { ...place, path: join(testFolder(), 'mirror.db') };
    openForWriting(place.path).connection.close();
    await expect(refresh()).rejects.toMatchObject({ recovery: 'usage' });
    expect(() => openForWriting(place.path).connection.close()).not.toThrow();
  });

  test('can be read by its owner alone, and is written by nothing but its refresh', async () => {
    await refresh();
    expect(statSync(place.path).mode & 0o777).toBe(0o600);
    expect(() => openForWriting(place.path)).toThrow(/is a replica of a mirror in PostgreSQL/);
  });

  test('waits for the process that refreshes it, and stops waiting at a signal (R27)', async () => {
    await refresh();
    const lock = takeLock(place.path);
    const stop = new AbortController();
    const waiting = refreshReplica(source, place, { signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ recovery: 'signal' });
    const next = refresh();
    lock.release();
    expect(await next).toEqual({ rows: 0, isWhole: false });
  });

  test('is refreshed by one process at a time, and readers see its last state meanwhile', async () => {
    await refresh();
    const reader = new Sqlite(place.path, { readonly: true });
    onTestFinished(() => void reader.close());
    const count = () => reader.prepare("select count(*) from asset_lineage where env_id = 'e1'").pluck().get();
    await commit('e1', "delete from asset_lineage where env_id = 'e1'");
    reader.exec('begin');
    expect(count()).toBe(5);
    await Promise.all([refresh(), openSource(schema.url).then(refresh)]);
    expect(count()).toBe(5);
    reader.exec('commit');
    expect(count()).toBe(0);
  });
});

/** Overwrites the replica's file from an offset on. */
function damageFrom(offset: number): void {
  const bytes = readFileSync(place.path);
  writeFileSync(place.path, bytes.fill(0xee, offset));
}

/** Changes the replica's file. */
function inReplica(sql: string): void {
  const connection = new Sqlite(place.path);
  connection.exec(sql);
  connection.close();
}

describe('a command that needs a mirror as a file', () => {
  test('gets a replica in the cache folder of the user, which the next command refreshes', async () => {
    const mirror = await store(schema.url);
    const first = await withMirrorFile(mirror, async (path) => path);
    expect(first).toMatch(/cache\/obsync\/replica-[0-9a-f]{16}\.db$/);
    const { ino } = statSync(first);
    expect(await withMirrorFile(mirror, async (path) => path)).toBe(first);
    expect(statSync(first).ino).toBe(ino);
  });

  test('removes a replica that turns out to be damaged, so that the next command makes it again', async () => {
    const mirror = await store(schema.url);
    const { path: replica } = place;
    await withMirrorFile(mirror, async () => {}, { replica });
    const damage = Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' });
    await expect(
      withMirrorFile(
        mirror,
        async () => {
          damageFrom(8192);
          throw damage;
        },
        { replica },
      ),
    ).rejects.toMatchObject({ recovery: 'run', cause: damage, message: expect.stringContaining('run again') });
    expect(existsSync(replica)).toBe(false);
    await withMirrorFile(mirror, async () => {}, { replica });
    await expectEqual();
  });

  test('refuses a replica of a mirror in a file', async () => {
    const path = join(testFolder(), 'm.db');
    openForWriting(path).connection.close();
    await expect(withMirrorFile(await store(path), async () => {}, { replica: place.path })).rejects.toMatchObject({
      recovery: 'usage',
      message: `${path} is a file, which needs no replica: leave out --replica or --follow, or name a mirror in PostgreSQL with --db`,
    });
  });
});
