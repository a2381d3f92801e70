import type { Database, Statement } from 'better-sqlite3';
import { sameJson } from '../../core/json.ts';

/** The statement of this name, made once for its connection. The text is the name itself unless it is given apart. */
export type PrepareStatement = (name: string, text?: () => string) => Statement;

/** Keeps every statement: their texts name tables and streams, never an environment, so there are only so many. */
export function preparing(connection: Database): PrepareStatement {
  connection.function('same_json', { deterministic: true }, sameJsonTexts);
  const known = new Map<string, Statement>();
  return (name, text = () => name) => {
    const statement = known.get(name) ?? connection.prepare(text());
    known.set(name, statement);
    return statement;
  };
}

/** `same_json(a, b)` in SQL: 1 for texts that hold the same JSON (R21). */
function sameJsonTexts(a: unknown, b: unknown): number {
  return Number(typeof a === 'string' && typeof b === 'string' && sameJson(a, b));
}
