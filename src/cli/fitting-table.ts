import { naturalWidth, renderTable } from './rows-view.ts';

export interface FittingColumn<Row> {
  readonly head: string;
  cell(row: Row): unknown;
  /** Left out where the table would be wider than the screen, the highest first; one without stays. */
  readonly spare?: number;
}

/** Rows as a table that rather leaves columns out than cuts what its cells say. Null: as wide as it gets. */
export function renderFitting<Row>(
  columns: readonly FittingColumn<Row>[],
  rows: readonly Row[],
  width: number | null,
): string {
  const heads = columns.map(({ head }) => head);
  const cells = rows.map((row) => columns.map((column) => column.cell(row)));
  const spares = columns.map(({ spare }) => spare ?? 0);
  const last = spares.indexOf(Math.max(...spares));
  if (width === null || spares[last] === 0 || naturalWidth(heads, cells) <= width)
    return renderTable(heads, cells, width);
  return renderFitting(columns.toSpliced(last, 1), rows, width);
}
