import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeBi } from '../../src/api/bi.ts';
import { copy } from '../../src/api/copy.ts';
import { obsync } from '../cli/setup.ts';
import { folder } from '../export/setup.ts';
import { type TestSchema, testSchema } from '../support/postgres.ts';
import { noteEqual, runSuperset } from './consumer.ts';
import { SUPERSET } from './places.ts';
import { supersetQuestions } from './superset-questions.ts';

const READER = { name: 'bi reader', password: "it's secret: @/" };

/** Superset sets its own database up, and is asked hundreds of questions. */
const MAX_MS = 1_800_000;

describe.runIf(existsSync(SUPERSET))('the dashboards in Superset', () => {
  let place: TestSchema;
  let report: { readonly answered: number; readonly problems: readonly string[] };

  beforeAll(async () => {
    const cwd = folder();
    const db = join(cwd, 'demo.db');
    expect(await obsync(['demo', '--db', 'demo.db'], { cwd })).toMatchObject({ code: 0 });
    const mirror = new Database(db);
    mirror.exec(`update tests set owners = '["Ann", "O''Neil"]' where id in (
      select test_id from failing_tests order by test_id limit 40)`);
    const questions = supersetQuestions(mirror, [
      {},
      { env_name: 'Production Analytics' },
      { owner: "O'Neil" },
      { env_name: 'Staging Analytics', owner: 'Data Platform' },
      { schema_name: 'no schema' },
      { tag: 'finance', env_name: 'Production Analytics' },
      ...rangesOf(mirror).map((range) => ({ range })),
    ]);
    mirror.close();
    place = await testSchema();
    await copy({ db, to: place.url });
    const address = await readerOf(place);
    for (const mirrorAddress of [db, address]) await writeBi({ tool: 'superset', to: cwd, db: mirrorAddress });
    writeFileSync(join(cwd, 'questions.json'), JSON.stringify(questions));
    await runSuperset(['superset_charts.py', cwd, READER.password]);
    report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8'));
  }, MAX_MS);
  afterAll(async () => {
    await place?.ask(`drop owned by "${place.schema}_reader"; drop role "${place.schema}_reader"`);
    await place?.drop();
  });

  test('every chart answers as SQL over the mirror does, in a file and for a reader in PostgreSQL, for each filter', () => {
    expect(report.problems).toEqual([]);
    expect(report.answered).toBeGreaterThan(600);
    noteEqual({ tool: 'Superset', version: '6.1.0', what: 'questions to charts' }, report.answered);
  });
});

/** A role that may only read, as docs/postgresql.md makes it. */
async function readerOf({ schema, serverUrl, ask }: TestSchema): Promise<string> {
  const role = `"${schema}_reader"`;
  await ask(`create role ${role} login password '${READER.password.replaceAll("'", "''")}'`);
  // Days are UTC, whatever the time zone of the session.
  await ask(`alter role ${role} set timezone to 'Pacific/Kiritimati'`);
  await ask(`grant usage on schema ${schema} to ${role}`);
  await ask(`grant select on all tables in schema ${schema} to ${role}`);
  const url = new URL(serverUrl);
  url.username = `${schema}_reader`;
  url.password = '';
  url.searchParams.set('schema', schema);
  return url.href;
}

/** The last three days, an hour of the newest day, and a day long before. */
function rangesOf(mirror: Database.Database): (readonly [string, string])[] {
  const last = mirror.prepare('select max(start_time) from failing_tests').pluck().get() as string;
  const day = (days: number): string => new Date(Date.parse(last) - days * 86_400_000).toISOString().slice(0, 10);
  const hour = last.slice(0, 13);
  return [
    [`${day(2)}T00:00:00`, `${day(-1)}T00:00:00`],
    [`${hour}:00:00`, `${hour}:59:59`],
    [`${day(10)}T00:00:00`, `${day(8)}T12:00:00`],
  ];
}
