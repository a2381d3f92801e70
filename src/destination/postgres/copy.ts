import { usageError } from '../../core/errors.ts';
import { withoutNulEscapes } from '../../core/json.ts';
import type { ColumnValue } from '../../core/stream.ts';
import {
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  type RowSelection,
  whereWithin,
} from '../sql/copied-tables.ts';
import { refuseNewer, refuseOlder } from '../sql/mirror-version.ts';
import { FIRST_PORTION, nextPortion } from '../sql/portions.ts';
import { list, quote } from '../sql/tables.ts';
import type { PostgresAddress } from './address.ts';
import { migrateInside, postgresMigrationTimes, postgresVersion } from './migrations.ts';
import { beginIn, closeOnError, type ListConnection, type OpenConnection, openConnection } from './open-connection.ts';
import type { PostgresConnection } from './transaction.ts';
import { arrayText, TYPES } from './values.ts';

/** Opens a mirror in PostgreSQL for copying, as of one instant. @throws SyncError */
export async function openPostgresSource(address: PostgresAddress): Promise<CopySource> {
  return closeOnError(await openConnection(address), async (connection) => {
    await beginIn(connection, address.schema, 'isolation level repeatable read, read only');
    await refuseOtherVersion(connection, address);
    return {
      rows: (table) => readRows(connection, table),
      close: () => connection.close(),
    };
  });
}

/** A mirror's schema, and its name in messages. */
export type MirrorName = Pick<PostgresAddress, 'schema' | 'display'>;

/** @throws SyncError `usage` */
export async function refuseOtherVersion(connection: PostgresConnection, address: MirrorName): Promise<void> {
  const [found, times] = [await postgresVersion(connection, address.schema), postgresMigrationTimes()];
  if (found === 0)
    throw usageError(
      `${address.display} holds no mirror: make it with \`obsync sync\`, or name another schema with ?schema=`,
    );
  refuseNewer(found, times, address.display);
  refuseOlder(found, times, address.display);
}

/** Rows of a table in portions of bounded size, within a transaction. */
export async function* readRows(
  connection: ListConnection,
  table: CopiedTable,
  selection: RowSelection = {},
): AsyncGenerator<readonly CopiedRow[]> {
  const { select, values } = selectOf(table, selection);
  await connection.list(`declare copied no scroll cursor for ${select}`, values);
  let portion = FIRST_PORTION;
  for (;;) {
    const rows = await connection.list(`fetch forward ${portion} from copied`);
    if (rows.length > 0) yield rows;
    if (rows.length < portion) break;
    portion = nextPortion(rows);
  }
  await connection.query('close copied');
}

/** Only a running run writes rows of the log. `xmin` wraps around: an age compares it with the newest transaction. */
function whereChanged({ name, isLog }: CopiedTable, after: string): string {
  if (!isLog) return `mirrored_at > ${after}`;
  const isNew = `age(xmin) <= age(${after}::xid8::xid)`;
  if (name === 'sync_runs') return isNew;
  return `${isNew} and ${among('run_id', `select id from sync_runs where status = 'running' or ${isNew}`)}`;
}

/** Searches an index for each value: for `in (…)`, the planner may expect many, and compare each row of the table. */
function among(column: string, select: string): string {
  return `${column} = any(array(${select}))`;
}

function selectOf(
  table: CopiedTable,
  { columns = table.columns, envId, after, within }: RowSelection,
): { readonly select: string; readonly values: readonly string[] } {
  const values: string[] = [];
  const than = (value: string): string => `$${values.push(value)}`;
  const conditions = [
    ...(envId == null ? [] : [`env_id = ${than(envId)}`]),
    ...(after == null ? [] : [whereChanged(table, than(after))]),
    ...(within === undefined ? [] : [whereWithin(within, { bind: than, among })]),
  ];
  const where = (more: readonly string[]): string => {
    const all = [...conditions, ...more];
    return `select ${list(columns)} from ${quote(table.name)}${all.length === 0 ? '' : ` where ${all.join(' and ')}`}`;
  };
  if (table.isOrdered) return { select: `${where([])} order by row_number`, values };
  // Each half has an index on the time.
  const isHalved = table.hasTombstones && after != null;
  const halves = isHalved ? [['deleted_at is null'], ['deleted_at is not null']] : [[]];
  return { select: halves.map(where).join(' union all '), values };
}

/** Starts a new mirror with its tables, in one transaction. @throws SyncError `usage` if there already is one */
export async function openPostgresTarget(address: PostgresAddress): Promise<CopyTarget> {
  return closeOnError(await openConnection(address), async (connection) => {
    // It must see what was committed while it waited.
    await beginIn(connection, address.schema, 'isolation level read committed');
    await migrateInside(connection, address.schema);
    // A sync that creates its mirror here meanwhile waits, and then finds the copy.
    await connection.query('lock table mirror in exclusive mode');
    await refuseTaken(connection, address);
    return {
      write: (table, rows) => writeRows(connection, table, rows),
      async finish() {
        for (const table of COPIED_TABLES) {
          if (table.numbered !== null) await connection.query(numberingOf(table.name, table.numbered));
          await connection.query(`analyze ${quote(table.name)}`);
        }
        await connection.query('commit');
        await connection.close();
      },
      // The server rolls back what a closed connection leaves open.
      abandon: () => connection.close(),
    };
  });
}

async function refuseTaken(connection: OpenConnection, { display }: PostgresAddress): Promise<void> {
  for (const { name } of COPIED_TABLES) {
    const rows = await connection.list(`select 1 from ${quote(name)} limit 1`);
    if (rows.length > 0)
      throw usageError(`${display} holds a mirror already: drop its schema first, or name another one with ?schema=`);
  }
}

/** The next row is numbered after the highest. */
function numberingOf(table: string, column: string): string {
  const sequence = `pg_get_serial_sequence('${quote(table)}', '${column}')`;
  return `select setval(${sequence}, coalesce(max(${quote(column)}), 1), max(${quote(column)}) is not null) from ${quote(table)}`;
}

async function writeRows(connection: OpenConnection, table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
  for (const row of rows) refuseNul(table, row);
  const names = list(table.columns);
  const kinds = [...table.kinds.values()];
  const arrays = kinds.map((kind, i) => `$${i + 1}::${TYPES[kind]}[]`).join(', ');
  await connection.list(
    `insert into ${quote(table.name)} (${names}) select ${names} from unnest(${arrays}) with ordinality as r (${names}, row_nth) order by row_nth`,
    kinds.map((kind, i) =>
      arrayText(
        kind,
        rows.map((row) => {
          const value = row[i] as ColumnValue;
          return kind === 'json' && typeof value === 'string' ? withoutNulEscapes(value) : value;
        }),
      ),
    ),
  );
}

/** U+0000 becomes U+FFFD, as in a sync (R19). @throws SyncError `usage` if a key holds it (R20) */
function refuseNul(table: CopiedTable, row: CopiedRow): void {
  const key = table.columns.flatMap((name, i) => (table.key.includes(name) ? [String(row[i])] : []));
  if (!key.some((part) => part.includes('\0'))) return;
  throw usageError(
    `PostgreSQL cannot hold the character U+0000, which is in the key ${JSON.stringify(key)} of ${table.name}: run \`obsync sync\` on the new address instead, which rejects that row`,
  );
}
