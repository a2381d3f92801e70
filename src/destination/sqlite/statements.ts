import type { Database, Statement } from 'better-sqlite3';
import type { Instant } from '../../core/instant.ts';
import { sameJson } from '../../core/json.ts';
import type { Row, StreamName } from '../../core/stream.ts';
import type { NotedKeys } from './transactions.ts';

/** One environment's part of a mirror. */
export interface MirrorScope {
  readonly envId: string;
  readonly prepare: PrepareStatement;
  readonly noted: NotedKeys;
}

export function partOf({ prepare, noted }: Omit<MirrorScope, 'envId'>, envId: string): MirrorScope {
  return { envId, prepare, noted };
}

/** A commit under way in it; what is written is written within its transaction. */
export interface CommitScope extends MirrorScope {
  readonly run: number;
  /** The mirror's own time of this commit (R21). */
  readonly mirroredAt: Instant;
  /** Streams that have marks made for them by removals. */
  readonly marking: ReadonlySet<StreamName>;
}

/** Values by the names they have in SQL, `@name`; `@env` is the environment in every statement. */
export type SqlValues = Readonly<Record<string, unknown>>;

/** @returns how many rows were written or removed */
export function run(mirrorScope: MirrorScope, sql: string, sqlValues: SqlValues = {}): number {
  return mirrorScope.prepare(sql).run({ ...sqlValues, env: mirrorScope.envId }).changes;
}

export function rows(mirrorScope: MirrorScope, sql: string, sqlValues: SqlValues = {}): Row[] {
  return mirrorScope.prepare(sql).all({ ...sqlValues, env: mirrorScope.envId }) as Row[];
}

/** The first column of every row. */
export function column(mirrorScope: MirrorScope, sql: string, sqlValues: SqlValues = {}): unknown[] {
  return mirrorScope
    .prepare(sql)
    .pluck()
    .all({ ...sqlValues, env: mirrorScope.envId });
}

/** The first column of the first row; undefined when there is none. */
export function value(mirrorScope: MirrorScope, sql: string, sqlValues: SqlValues = {}): unknown {
  return mirrorScope
    .prepare(sql)
    .pluck()
    .get({ ...sqlValues, env: mirrorScope.envId });
}

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
