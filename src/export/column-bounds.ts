import type { CellRow } from './cell.ts';
import type { ExportRelation } from './relation.ts';

/** The smallest and the largest value of a file's columns, so readers can skip files. These columns have no NULL. */
export type ColumnBounds = Readonly<Record<string, ValueBounds>>;

export type ValueBounds = readonly [least: string, greatest: string];

/** Finds the bounds of the environment, of the time or else the first part of the key, and of `mirrored_at`. */
export function createBounds({ kind, columns, envColumn, order, timeColumn }: ExportRelation) {
  const bounded = kind === 'view' ? [envColumn] : [envColumn, timeColumn ?? order[0], 'mirrored_at'];
  const found = new Map<string, ValueBounds>();
  return {
    add(rows: readonly CellRow[]): void {
      for (const [at, { name, type }] of columns.entries()) {
        if (!bounded.includes(name)) continue;
        const before = found.get(name);
        const [first, last] = [rows[0]?.[at], rows.at(-1)?.[at]];
        // Keys come in byte order, times in any.
        const bounds: ValueBounds = [before?.[0] ?? String(first), String(last)];
        found.set(name, type === 'timestamp' ? extremes(rows, at, before) : bounds);
      }
    },
    result: (): ColumnBounds => Object.fromEntries(found),
  };
}

/** Instants are texts of one width. */
function extremes(rows: readonly CellRow[], at: number, before: ValueBounds = ['~', '']): ValueBounds {
  let [least, greatest] = before;
  for (const row of rows) {
    const value = String(row[at]);
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return [least, greatest];
}
