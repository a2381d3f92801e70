import type { Database, Statement } from 'better-sqlite3';
import { sameJson } from '../../core/json.ts';

/** The statement of this name, made once for its connection. The text is the name itself unless it is given apart. */
export type PrepareStatement = (name: string, text?: () => string) => Statement;

/** A sync has fewer: its statements name tables and streams, never an environment. A server has one for each set of filters. */
const MOST_STATEMENTS = 300;

export function preparing(connection: Database): PrepareStatement {
  connection.function('same_json', { deterministic: true }, sameJsonTexts);
  const known = new Map<string, Statement>();
  return (name, text = () => name) => {
    const kept = known.get(name);
    if (kept !== undefined) return kept;
    if (known.size >= MOST_STATEMENTS) known.clear();
    const statement = connection.prepare(text());
    known.set(name, statement);
    return statement;
  };
}

/** `same_json(a, b)` in SQL: 1 for texts that hold the same JSON (R21). */
function sameJsonTexts(a: unknown, b: unknown): number {
  return Number(typeof a === 'string' && typeof b === 'string' && sameJson(a, b));
}
