import type { Database, Statement } from 'better-sqlite3';

/** Prepares each statement once for a connection. */
export function statements(connection: Database): (sql: string) => Statement {
  const known = new Map<string, Statement>();
  return (sql) => {
    const statement = known.get(sql) ?? connection.prepare(sql);
    known.set(sql, statement);
    return statement;
  };
}
