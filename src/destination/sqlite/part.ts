import type { Instant } from '../../core/instant.ts';
import type { Row, StreamName } from '../../core/stream.ts';
import type { Noted } from './noted.ts';
import type { Prepare } from './prepared.ts';

/** One environment's part of a mirror. */
export interface Part {
  readonly envId: string;
  readonly prepare: Prepare;
  readonly noted: Noted;
}

export function partOf({ prepare, noted }: Omit<Part, 'envId'>, envId: string): Part {
  return { envId, prepare, noted };
}

/** A commit under way in it; what is written is written within its transaction. */
export interface Writing extends Part {
  readonly run: number;
  /** The mirror's own time of this commit (R21). */
  readonly mirroredAt: Instant;
  /** Streams that have marks made for them by removals. */
  readonly marking: ReadonlySet<StreamName>;
}

/** Values by the names they have in SQL, `@name`; `@env` is the environment in every statement. */
export type Values = Readonly<Record<string, unknown>>;

/** @returns how many rows were written or removed */
export function run(part: Part, sql: string, values: Values = {}): number {
  return part.prepare(sql).run({ ...values, env: part.envId }).changes;
}

export function rows(part: Part, sql: string, values: Values = {}): Row[] {
  return part.prepare(sql).all({ ...values, env: part.envId }) as Row[];
}

/** The first column of every row. */
export function column(part: Part, sql: string, values: Values = {}): unknown[] {
  return part
    .prepare(sql)
    .pluck()
    .all({ ...values, env: part.envId });
}

/** The first column of the first row; undefined when there is none. */
export function value(part: Part, sql: string, values: Values = {}): unknown {
  return part
    .prepare(sql)
    .pluck()
    .get({ ...values, env: part.envId });
}
