import { getTableColumns } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { type Fields, type FieldType, parentsOf, type StreamName } from '../../src/core/stream.ts';
import { tableNamed, tableSqlOf } from '../../src/destination/sql/tables.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';

test.each(CATALOGUE)('the schema has every table that $name uses, with the columns that it writes', (stream) => {
  const { table, staged, childTables = [], historyTables = [], parentTable, cascade = [], cascadeMarks } = stream;
  const others = [...historyTables, ...parentsOf(stream), parentTable, ...cascade, cascadeMarks].flatMap(
    (each) => each?.table ?? [],
  );
  for (const name of [table, staged, ...childTables.flatMap((part) => [part.table, part.staged]), ...others])
    if (name !== undefined) expect(tableSqlOf(name).name).toBe(name);
  for (const field of stream.writes ?? Object.keys(stream.fields)) expect(tableSqlOf(table).columns).toContain(field);
});

const SQL_TYPES: Readonly<Record<FieldType, string>> = {
  id: 'text',
  text: 'text',
  integer: 'integer',
  number: 'real',
  boolean: 'integer',
  instant: 'text',
  json: 'text',
};

/** The columns that the destination adds to the rows of a table, and of its staged copy. */
const ADDED = ['env_id', 'mirrored_at', 'extra', 'deleted_at', 'deletion', 'read_number'];

/** Each table that streams write, and the fields that they write. */
const WRITTEN = Object.entries(
  Object.groupBy(
    CATALOGUE.flatMap(({ table, staged, fields, key, childTables = [] }) => [
      { table, fields, key, staged: false },
      ...(staged === undefined ? [] : [{ table: staged, fields, key, staged: true }]),
      ...childTables.flatMap((part) => [
        { ...part, fields: { ...keyFields(fields, part.key), ...part.fields }, staged: false },
        ...(part.staged === undefined
          ? []
          : [
              { table: part.staged, fields: { ...keyFields(fields, part.key), ...part.fields }, key: [], staged: true },
            ]),
      ]),
    ]),
    ({ table }) => table,
  ),
).map(([table, written = []]) => ({
  table,
  fields: Object.assign({}, ...written.map(({ fields }) => fields)) as Fields,
  key: written.find(({ staged }) => !staged)?.key,
}));

function keyFields(fields: Fields, key: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => key.includes(name)));
}

test.each(WRITTEN)(
  'the columns of $table are the fields that streams write to it, with their types',
  ({ table, fields }) => {
    const columns = Object.values(getTableColumns(tableNamed(table))).filter(({ name }) => !ADDED.includes(name));
    const ofFields = Object.entries(fields).map(([name, { type }]) => [name, SQL_TYPES[type]]);
    expect(columns.map((column) => [column.name, column.getSQLType()]).sort()).toEqual(ofFields.sort());
  },
);

test.each(WRITTEN.filter(({ key }) => key !== undefined))(
  'the primary key of $table is the environment plus the key of its stream',
  ({ table, key = [] }) => {
    expect(tableSqlOf(table).key).toEqual(['env_id', ...key]);
  },
);

/** The streams that a stream waits for, directly or indirectly. */
function dependenciesOf(name: StreamName): StreamName[] {
  const direct = CATALOGUE.find((entry) => entry.name === name)?.dependencies ?? [];
  return [...direct, ...direct.flatMap(dependenciesOf)];
}

test('two streams that write the same table wait for each other or write different kinds (R26)', () => {
  const writes = CATALOGUE.flatMap((entry) =>
    [entry, ...(entry.childTables ?? []), ...(entry.historyTables ?? [])].map(({ table }) => ({ table, entry })),
  );
  const shared = writes.flatMap(({ table, entry }) =>
    writes
      .filter((other) => other.table === table && other.entry !== entry)
      .map((other) => [entry, other.entry] as const),
  );
  expect(shared.length).toBeGreaterThan(0);
  const unsafe = shared.filter(
    ([one, other]) =>
      !dependenciesOf(one.name).includes(other.name) &&
      !dependenciesOf(other.name).includes(one.name) &&
      (one.subtype === undefined || other.subtype === undefined || one.subtype.is === other.subtype.is),
  );
  expect(unsafe.map(([one, other]) => `${one.name}, ${other.name}`)).toEqual([]);
});

test('tableSqlOf refuses a table that is not in the schema', () => {
  expect(() => tableSqlOf('nowhere')).toThrow('no table nowhere');
});
