import type { Database } from 'better-sqlite3';
import type { ColumnKind } from '../../schema/column-types.ts';
import { COPIED_TABLES, type CopiedTable } from '../../src/destination/sql/copied-tables.ts';
import { list, quote } from '../../src/destination/sql/tables.ts';

/**
 * Text that databases may treat differently: quotes, backslashes, braces, the word NULL, other scripts, line breaks.
 */
const TEXTS = ['', 'NULL', '{}', '{"a"}', 'a,b', '"', "'", '\\', '\\N', 'a\nb\tc', 'ä€😀', ' x ', '0', '\u0001'];

const JSONS = ['{"b":1,"a":[1.0,1e3,null]}', '[]', '"\\u0001"', '{"a":1,"a":2}', '  null ', '12345678901234567890'];

/** Values for a kind of column. The row's number makes keys unique. */
const VALUES: Readonly<Record<ColumnKind, (row: number) => string | number>> = {
  text: (row) => `${TEXTS[row % TEXTS.length]} ${row}`,
  integer: (row) => row * 1_000_003 + 1,
  real: (row) => [0.1, -0, 1e300, 5e-324, 1 / 3, 12][row % 6] as number,
  // The year 0 is valid, too.
  time: (row) =>
    `${row % 7 === 0 ? '0000' : '2026'}-${row % 2 === 0 ? '02' : '11'}-20T04:10:00.${String(row).padStart(6, '0')}Z`,
  day: (row) => `20${10 + (row % 80)}-02-03`,
  flag: (row) => row % 2,
  json: (row) => JSONS[row % JSONS.length] as string,
};

/** Fills every table with every kind of value. A nullable column is null in every third row. */
export function fillAllTables(connection: Database, rowsOf: (table: CopiedTable) => number): void {
  for (const table of COPIED_TABLES) {
    const required = new Set(
      (connection.pragma(`table_info(${quote(table.name)})`) as { name: string; notnull: number; pk: number }[])
        .filter(({ notnull, pk }) => notnull === 1 || pk > 0)
        .map(({ name }) => name),
    );
    const insert = connection.prepare(
      `insert or ignore into ${quote(table.name)} (${list(table.columns)}) values (${table.columns.map(() => '?').join(', ')})`,
    );
    const rows = table.name === 'mirror' ? 1 : rowsOf(table);
    for (let row = 0; row < rows; row++)
      insert.run(
        [...table.kinds].map(([name, kind], i) =>
          !required.has(name) && (row + i) % 3 === 0 ? null : VALUES[kind](row),
        ),
      );
  }
}

/** All rows of all tables, sorted; staged rows stay in the order in which they were written. */
export function allRows(connection: Database): Record<string, unknown[]> {
  return Object.fromEntries(
    COPIED_TABLES.map(({ name, columns, isOrdered }) => {
      const order = isOrdered ? 'rowid' : list(columns);
      return [
        name,
        connection
          .prepare(`select * from ${quote(name)} order by ${order}`)
          .raw()
          .all(),
      ];
    }),
  );
}
