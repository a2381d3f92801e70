import { expect, test } from 'vitest';
import { tableSqlOf } from '../../src/destination/sqlite/table-sql.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';

test.each(CATALOGUE)(
  'every table that $name names is in the schema, with the columns that it writes there',
  (stream) => {
    const { table, staged, childTables = [], historyTables = [], parents, parentTable, cascade, cascadeMarks } = stream;
    const others = [...historyTables, ...parents, parentTable, cascade, cascadeMarks].flatMap(
      (each) => each?.table ?? [],
    );
    for (const name of [table, staged, ...childTables.flatMap((part) => [part.table, part.staged]), ...others])
      if (name !== undefined) expect(tableSqlOf(name).name).toBe(name);
    for (const field of stream.writes ?? Object.keys(stream.fields)) expect(tableSqlOf(table).columns).toContain(field);
  },
);

test('a table that is not in the schema is refused', () => {
  expect(() => tableSqlOf('nowhere')).toThrow('no table nowhere');
});
