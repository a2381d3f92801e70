import { naturalWidth, renderTable } from './rows-view.ts';

export interface FittingColumn<Row> {
  readonly head: string;
  cell(row: Row): unknown;
  /** If the table is too wide, the column with the highest number is omitted first; a column without a number stays. */
  readonly spare?: number;
}

/** Renders rows as a table that omits columns before it truncates cells. A `width` of null means no limit. */
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
