import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Stream } from '../../src/core/stream.ts';
import { hashOfViews, VIEWS_HASH } from '../../src/destination/postgres/migrations.ts';
import { postgresViews } from '../../src/destination/postgres/views.ts';
import { writeNoted } from '../../src/destination/sql/seen-keys.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { perform } from '../../src/destination/sqlite/driver.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { START } from '../support/conformance/workbench.ts';
import { testFolder } from '../support/test-folder.ts';
import { COMMIT_KINDS, type CommitKind, furnish, of } from './commit-kinds.ts';
import { readable } from './sql-text.ts';

const mirror = openForWriting(join(testFolder(), 'obsync.db'));
afterAll(() => mirror.connection.close());

let prepared: string[] = [];

beforeAll(() => {
  const prepare = mirror.connection.prepare.bind(mirror.connection);
  Object.assign(mirror.connection, {
    prepare(sql: string) {
      prepared.push(sql);
      return prepare(sql);
    },
  });
});

/** The distinct statements of a part, in order of first use. Its transaction is rolled back. */
async function statementsOf(stream: Stream, act: CommitKind['act']): Promise<string[]> {
  const { connection } = mirror;
  connection.exec('begin');
  furnish(connection, stream);
  const unkept: MirrorFile = { ...mirror, prepare: (name, text = () => name) => connection.prepare(text()) };
  prepared = [];
  await act(createSqliteDestination(unkept, { envId: 'e', run: 2, clock: () => START }), stream);
  // Every transaction of the mirror ends with this statement.
  perform(unkept.prepare, writeNoted(mirror.noted));
  const statements = [...new Set(prepared)];
  connection.exec('rollback');
  return statements;
}

/** The SQL files leave out what keeps SQLite from planning a statement again at each run. */
const section = (title: string, statements: readonly string[]): string =>
  [`-- ${title}`, ...statements.map((sql) => `${readable(sql.replaceAll('+@', '@'))};`)].join('\n\n');

test.each(CATALOGUE)('every part of a commit of $name runs the statements recorded in its SQL file', async (stream) => {
  const always = await statementsOf(
    stream,
    of(() => ({})),
  );
  const sections = [section('every commit: the clock and the checkpoint', always)];
  for (const { title, isOf, act } of COMMIT_KINDS) {
    if (!isOf(stream)) continue;
    const statements = (await statementsOf(stream, act)).filter((sql) => !always.includes(sql));
    expect(statements, title).not.toEqual([]);
    sections.push(section(title, statements));
  }
  await expect(`${sections.join('\n\n\n')}\n`).toMatchFileSnapshot(`sql/${stream.name}.sql`);
});

test('the package has the hash of the views and comments that this version makes in PostgreSQL', async () => {
  await expect(`${hashOfViews(postgresViews())}\n`).toMatchFileSnapshot(VIEWS_HASH);
});

test('no statement of a commit has a bare parameter, because SQLite may plan it again whenever one is bound', async () => {
  const found = new Set<string>();
  for (const stream of CATALOGUE)
    for (const { isOf, act } of COMMIT_KINDS)
      if (isOf(stream)) for (const sql of await statementsOf(stream, act)) found.add(sql);
  expect([...found].filter((sql) => /\+@\w/.test(sql)).length).toBeGreaterThan(100);
  expect([...found].filter((sql) => /(?<!\+)@\w/.test(sql))).toEqual([]);
});
