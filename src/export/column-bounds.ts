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
        const isTime = type === 'timestamp';
        const [first, last] = isTime ? extremes(rows, at) : [rows[0]?.[at], rows.at(-1)?.[at]];
        found.set(name, wider(found.get(name), [String(first), String(last)], isTime));
      }
    },
    result: (): ColumnBounds => Object.fromEntries(found),
  };
}

/** Instants are texts of one width. */
function extremes(rows: readonly CellRow[], at: number): ValueBounds {
  let [least, greatest] = ['~', ''];
  for (const row of rows) {
    const value = String(row[at]);
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return [least, greatest];
}

/** Keys come in byte order. */
function wider(before: ValueBounds | undefined, [least, greatest]: ValueBounds, isTime: boolean): ValueBounds {
  if (before === undefined) return [least, greatest];
  if (!isTime) return [before[0], greatest];
  return [least < before[0] ? least : before[0], greatest > before[1] ? greatest : before[1]];
}
