import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readStatus, type StatusReport, withVerdict } from '../../src/api/status-report.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { newestWins } from '../../src/core/decide/newest-wins.ts';
import { decodePage } from '../../src/core/decode/decode.ts';
import type { Destination } from '../../src/core/ports/destination.ts';
import type { StateStore } from '../../src/core/ports/state-store.ts';
import { reconcile } from '../../src/core/schedule/environments.ts';
import type { Stream, StreamName } from '../../src/core/stream.ts';
import { createPostgresDestination } from '../../src/destination/postgres/destination.ts';
import { POSTGRES } from '../../src/destination/postgres/dialect.ts';
import { performOn } from '../../src/destination/postgres/driver.ts';
import { migratePostgres } from '../../src/destination/postgres/migrations.ts';
import { postgresState } from '../../src/destination/postgres/state.ts';
import type { SqlStatements } from '../../src/destination/sql/statements.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { perform, sqliteScope } from '../../src/destination/sqlite/driver.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { fileState } from '../../src/destination/sqlite/open-state.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { loadLastStarts } from '../../state/run-log.ts';
import { commitOf } from '../support/commit-parts.ts';
import { column, START as NOW, UNDER_WAY, YESTERDAY } from '../support/conformance/workbench.ts';
import { pgliteConnection, pgliteDatabase } from '../support/pglite-mirror.ts';
import { testFolder } from '../support/test-folder.ts';

/** A mirror in either database, with functions that read its status and its last starts. */
interface Subject {
  readonly state: StateStore;
  destination(run: number): Destination;
  read<Result>(statements: SqlStatements<Result>): Promise<Result>;
  status(): Promise<StatusReport>;
}

const clock = () => NOW;

function inFile(): Subject {
  const mirror = openForWriting(join(testFolder(), 'm.db'));
  onTestFinished(() => void mirror.connection.close());
  const read = async <Result>(statements: SqlStatements<Result>) => perform(mirror.prepare, statements);
  return {
    state: fileState(mirror, clock),
    destination: (run) => createSqliteDestination(mirror, { envId: 'e', run, clock }),
    read,
    status: () => read(readStatus({ name: 'm', scopeOf: (envId) => sqliteScope(mirror, envId) }, NOW)),
  };
}

async function inPostgres(): Promise<Subject> {
  const server = await pgliteConnection();
  onTestFinished(() => server.close());
  await migratePostgres(server, 'mirror');
  const database = pgliteDatabase(server, 'mirror');
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const options = { ...waiting, envId: 'e', clock, lease: null, errorOf: (cause: unknown) => cause };
  const read = <Result>(statements: SqlStatements<Result>) =>
    database.transaction((connection) => performOn(connection, statements));
  const scopeIn = (envId: string) => ({ envId, dialect: POSTGRES, noted: { pages: [] } });
  return {
    state: postgresState(database, { ...waiting, name: 'm', clock, leases: () => new Map([['e', null]]) }),
    destination: (run) => createPostgresDestination(database, { ...options, run }),
    read,
    status: () => read(readStatus({ name: 'm', scopeOf: scopeIn }, NOW)),
  };
}

function entryOf(name: StreamName): Stream {
  return CATALOGUE.find((entry) => entry.name === name) as Stream;
}

const COUNTS = { requests: 3, rows_written: 2, rows_deleted: 0, rows_rejected: 1 };

/** A finished run and a running one. */
async function play({ state, destination }: Subject): Promise<void> {
  await state.claimMirror('https://a.example');
  const run = await state.beginRun(YESTERDAY, 'sync');
  await state.saveEnvironments(reconcile([{ id: 'e', name: 'E', cron: '0 6 * * *' }, { id: 'f' }], [], NOW), run);
  const columns = entryOf('columns');
  const { rows, rejected } = decodePage(columns, [column('a'), column('b'), { id: 3 }]);
  const changes = rows.flatMap((row) => newestWins(columns, undefined, row, null) ?? []);
  const marks = [{ stream: 'column_lineage' as const, id: 'a' }];
  const checkpoint = { ...NO_PROGRESS, watermark: YESTERDAY, scanEndedAt: YESTERDAY, scanEndedCycle: run };
  const marking = new Set(CATALOGUE.map(({ name }) => name));
  await destination(run).commit(columns, commitOf(checkpoint, { changes, rejected, marks }), marking);
  const stream = {
    run_id: run,
    env_id: 'e',
    stream: 'columns',
    mode: 'scan',
    reason: 'first',
    status: 'done',
  } as const;
  const times = { started_at: YESTERDAY, ended_at: NOW };
  await state.recordStreamRun({ ...stream, ...COUNTS, ...times, pages: 2, rows_late: 0, error: null });
  await state.endRun(
    { id: run, cycle: run },
    { ...COUNTS, status: 'done', server_time: NOW, ended_at: NOW, error: null },
  );
  const next = await state.beginRun(NOW, 'sync');
  await destination(next).commit(entryOf('tests'), commitOf(UNDER_WAY, {}), marking);
}

test('with the same history, a mirror in PostgreSQL has the same status and last starts as one in SQLite', async () => {
  const told: unknown[] = [];
  for (const subject of [inFile(), await inPostgres()]) {
    await play(subject);
    const starts = await subject.read(loadLastStarts(['columns', 'tests']));
    told.push({ status: await subject.status(), starts });
  }
  expect(told[1]).toEqual(told[0]);
  expect(told[0]).toMatchObject({
    status: {
      base_url: 'https://a.example',
      last_run: { run: 2, status: 'running' },
      environments_rejected: 1,
      environments: [{ env_id: 'e', cron: '0 6 * * *' }],
    },
    starts: new Map([['e', YESTERDAY]]),
  });
  const streams = (told[0] as { status: StatusReport }).status.environments[0]?.streams ?? [];
  expect(streams.find(({ stream }) => stream === 'columns')).toMatchObject({
    rows: 2,
    rows_rejected: 1,
    last_run: COUNTS,
  });
  expect(streams.find(({ stream }) => stream === 'tests')).toMatchObject({ under_way: { reason: 'returned' } });
});

test('a run recorded as running is reported killed if nothing writes to the mirror, unless it has ended meanwhile', async () => {
  const subject = inFile();
  await play(subject);
  const report = await subject.status();
  expect(withVerdict(report, report.last_run).last_run).toEqual({ ...report.last_run, status: 'killed' });
  const ended = { ...(report.last_run as NonNullable<StatusReport['last_run']>), status: 'done' } as const;
  expect(withVerdict(report, ended).last_run).toEqual(ended);
  const later = { ...ended, run: 3, status: 'running' } as const;
  expect(withVerdict(report, later).last_run).toEqual(later);
});
