import type { Database, Statement } from 'better-sqlite3';

/** The statement of this name, made once for its connection. The text is the name itself unless it is given apart. */
export type Prepare = (name: string, text?: () => string) => Statement;

/** Keeps every statement: their texts name tables and streams, never an environment, so there are only so many. */
export function preparing(connection: Database): Prepare {
  const known = new Map<string, Statement>();
  return (name, text = () => name) => {
    const statement = known.get(name) ?? connection.prepare(text());
    known.set(name, statement);
    return statement;
  };
}
