import { randomBytes } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Instant } from '../core/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import type { Row } from './item.ts';
import { KEPT_TABLES } from './kept-tables.ts';
import type { Statement } from './question.ts';

const MOST_STATEMENTS = 300;

/** The time of a mirror that nothing was ever written to: earlier than any that a reader may have to be told of. */
const BEFORE_ALL: Instant = '1970-01-01T00:00:00.000000Z';

/** The newest time of all runs would stay wrong for good once the source's clock was. */
export const MIRROR = `select mirrored_at, cursor_key,
  (select server_time from sync_runs where server_time is not null order by id desc limit 1) as server_time from mirror`;

/** One state of the mirror. */
export interface View {
  /** The committed value of the mirror's clock: whatever is committed later has a later `mirrored_at`. */
  readonly now: Instant;
  /** The source's time in the last run that ended (R1); the mirror's while there is none. */
  readonly serverTime: Instant;
  /** With which cursors are sealed: 32 bytes. */
  readonly cursorKey: Buffer;
  rows(statement: Statement): Row[];
  /** Writes what is kept beside the mirror, which itself is open for reading alone. */
  run(statement: Statement): void;
}

/** Reads of the mirror, each from one consistent state; each statement is prepared once. */
export interface Store {
  read<Found>(look: (view: View) => Found): Found;
}

/** For a file whose migration was cut off before it had a key: such cursors do not outlive the process. */
export const makeCursorKey = (): string => randomBytes(32).toString('hex');

/** `cursorKey` serves while the mirror has none. */
export function openStore({ connection }: MirrorFile, cursorKey = makeCursorKey()): Store {
  connection.exec(KEPT_TABLES);
  const prepare = preparing(connection);
  const rows = ({ sql, values }: Statement): Row[] => prepare(sql).all(values) as Row[];
  const inTransaction = connection.transaction((look: (view: View) => unknown) => {
    const [mirror] = rows({ sql: MIRROR, values: {} });
    const now = String(mirror?.['mirrored_at'] || BEFORE_ALL);
    return look({
      now,
      serverTime: String(mirror?.['server_time'] ?? now),
      cursorKey: Buffer.from(String(mirror?.['cursor_key'] ?? cursorKey), 'hex'),
      rows,
      run: ({ sql, values }) => void prepare(sql).run(values),
    });
  });
  return { read: <Found>(look: (view: View) => Found) => inTransaction(look) as Found };
}

function preparing(connection: Database.Database): (sql: string) => Database.Statement {
  const prepared = new Map<string, Database.Statement>();
  return (sql) => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    if (prepared.size >= MOST_STATEMENTS) prepared.clear();
    const statement = connection.prepare(sql);
    prepared.set(sql, statement);
    return statement;
  };
}
