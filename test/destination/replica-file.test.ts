import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Row } from '../../src/core/stream.ts';
import { COPIED_TABLES, type CopiedRow, type CopiedTable } from '../../src/destination/sql/copied-tables.ts';
import { list, quote } from '../../src/destination/sql/tables.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { openReplicaFile, type ReplicaFile, startReplica } from '../../src/destination/sqlite/replica-file.ts';
import { framesOf } from '../crash/wal.ts';
import { fillAllTables } from '../support/filled-mirror.ts';
import { testFolder } from '../support/test-folder.ts';

const ROWS = 2000;
const [IDENTITY, NONE] = [{ identity: '', newestRun: null, allEndedBefore: '1' }, new Map<string, never>()];
const VERSIONS = { ...IDENTITY, clocks: NONE, removals: NONE, versions: NONE };
const REPLACED = COPIED_TABLES.filter(({ isStamped, isLog }) => isStamped || isLog);

let place: { path: string; isOwn: boolean };
let filled: Database;

const rowsIn = (connection: Database, { name, columns, key }: CopiedTable): CopiedRow[] =>
  connection
    .prepare<[], CopiedRow>(`select ${list(columns)} from ${quote(name)} order by ${list(key)}`)
    .raw()
    .all();

function inReplica(work: (file: ReplicaFile) => void): void {
  const file = openReplicaFile(place, false);
  work(file);
  file.finish(VERSIONS);
}

function openReader(): Database {
  const reader = new Sqlite(place.path, { readonly: true });
  onTestFinished(() => void reader.close());
  reader.prepare('select count(*) from sqlite_schema').get();
  return reader;
}

beforeEach(() => {
  place = { path: join(testFolder(), 'replica.db'), isOwn: true };
  filled = openForWriting(join(testFolder(), 'm.db')).connection;
  onTestFinished(() => void filled.close());
  fillAllTables(filled, ({ name }) => (name === 'columns' ? ROWS : 30));
  const file = startReplica(place.path);
  for (const table of REPLACED) file.insert(table, rowsIn(filled, table));
  file.finish(VERSIONS);
});

describe('a replica in which rows are replaced', () => {
  test.each(REPLACED)('has the given rows of $name, whichever of their columns changed, and new ones', (table) => {
    const [first = [], ...others] = rowsIn(filled, table);
    const changed = table.columns.flatMap((name, i) => {
      const [row, value] = [others[i] ?? [], others[i + 1]?.[i] ?? null];
      return table.key.includes(name) || value === null ? [] : [row.map((own, at) => (at === i ? value : own))];
    });
    const isKey = [...table.kinds].map(([name, kind]) => table.key.includes(name) && kind === 'text');
    const added = first.map((own, at) => (isKey[at] ? `${own} new` : own));
    inReplica((file) => file.replace(table, [...changed, added]));
    const keyOf = (row: CopiedRow): string =>
      JSON.stringify(table.columns.flatMap((name, at) => (table.key.includes(name) ? [String(row[at])] : [])));
    const expected = new Map([first, ...others, ...changed, added].map((row) => [keyOf(row), row]));
    expect(new Map(rowsIn(openReader(), table).map((row) => [keyOf(row), row]))).toEqual(expected);
  });

  test('writes no page of an index whose columns did not change', () => {
    const reader = openReader();
    const table = REPLACED.find(({ name }) => name === 'columns') as CopiedTable;
    const [typeAt, timeAt] = ['data_type', 'mirrored_at'].map((name) => table.columns.indexOf(name));
    const rows = rowsIn(filled, table).filter((_, at) => at % 10 === 0);
    inReplica((file) =>
      file.replace(
        table,
        rows.map((row) =>
          row.map((own, at) => (at === typeAt ? 'int' : at === timeAt ? '2027-01-01T00:00:00.000000Z' : own)),
        ),
      ),
    );
    const ofPage = new Map(reader.prepare<[], [number, string]>('select pageno, name from dbstat').raw().all());
    const wal = readFileSync(`${place.path}-wal`);
    const pages = framesOf(wal).map(({ start }) => wal.readUInt32BE(start));
    const written = new Set(pages.map((page) => ofPage.get(page)));
    expect(written).toContain('columns');
    expect(written).not.toContain('columns_by_asset');
    expect(written).not.toContain('sqlite_autoindex_columns_1');
  });
});

describe('a replica from which rows are deleted', () => {
  test.each(REPLACED)('keeps the given keys of $name, and looks each of them up in an index', async (table) => {
    const plans: string[] = [];
    const { prepare } = Sqlite.prototype;
    const explained = vi.spyOn(Sqlite.prototype, 'prepare').mockImplementation(function (this: Database, sql) {
      if (sql.startsWith('delete from') && sql.includes('kept'))
        plans.push(
          ...prepare
            .call(this, `explain query plan ${sql}`)
            .all({})
            .map((step) => (step as Row)['detail'] as string),
        );
      return prepare.call(this, sql);
    });
    onTestFinished(() => explained.mockRestore());
    const rows = rowsIn(filled, table);
    const kept = rows.filter((_, at) => at % 3 !== 0);
    const keys = kept.map((row) => row.filter((_, at) => table.key.includes(table.columns[at] as string)));
    const file = openReplicaFile(place, false);
    await file.retain(table, { envId: null, keys: toPortions(keys), within: undefined });
    file.finish(VERSIONS);
    expect(rowsIn(openReader(), table)).toEqual(kept);
    expect(plans.filter((step) => / k\b/.test(step))).toEqual([expect.stringMatching(/^SEARCH k USING PRIMARY KEY/)]);
  });
});

async function* toPortions(rows: readonly CopiedRow[]) {
  yield rows;
}
