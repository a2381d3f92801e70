import { printable } from './printable.ts';
import type { RowsFormat } from './rows-text.ts';
import { textWidth, truncate } from './text-width.ts';

/** `renderTable` for any number of rows. A new table starts whenever later rows need wider columns. */
export function tableFormat(columns: readonly string[], width: number | null): RowsFormat {
  const heads = columns.map(printable);
  let layout: TableLayout | null = null;
  let shown = 0;
  const bottom = (): string => (layout?.widths ? `${rule(BOTTOM, layout.widths)}\n` : '');
  const batch: RowsFormat['batch'] = (rows) => {
    const cells = rows.map((row) => row.map(cellText));
    const wanted = layoutOf({ heads, cells, rows }, width, layout);
    const continues = layout !== null && isSame(layout, wanted);
    const before = continues ? '' : bottom();
    const body = bodyOf(heads, cells, wanted, { opens: !continues, width, shown });
    layout = wanted;
    shown += rows.length;
    return `${before}${body}\n`;
  };
  return { begin: () => '', batch, end: () => (layout === null ? batch([]) : '') + bottom() };
}

function bodyOf(
  heads: readonly string[],
  cells: readonly (readonly string[])[],
  layout: TableLayout,
  { opens, width, shown }: { opens: boolean; width: number | null; shown: number },
): string {
  const { widths } = layout;
  if (widths === null) return renderLists(heads, cells, width as number, shown);
  return [...(opens ? [opening(heads, layout, widths)] : []), ...cells.map((row) => line(row, layout, widths))].join(
    '\n',
  );
}

/**
 * Renders rows as a table. If it is wider than `width`, the longest cells are truncated with `…`. If the cells would
 * become too short to read, each row becomes a list. A `width` of null means no limit.
 */
export function renderTable(
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
  width: number | null,
): string {
  const { batch, end } = tableFormat(columns, width);
  return `${batch(rows)}${end()}`.slice(0, -1);
}

interface TableLayout {
  /** Column widths if no cell is truncated. */
  readonly natural: readonly number[];
  /** Column widths as shown; null if there are too many columns for the width. */
  readonly widths: readonly number[] | null;
  /** Which columns contain numbers, which are aligned right. */
  readonly numeric: readonly boolean[];
}

function layoutOf(
  {
    heads,
    cells,
    rows,
  }: { heads: readonly string[]; cells: readonly string[][]; rows: readonly (readonly unknown[])[] },
  width: number | null,
  before: TableLayout | null,
): TableLayout {
  const natural = naturalWidths(heads, cells).map((each, i) => Math.max(each, before?.natural[i] ?? 0));
  const numeric = heads.map((_, i) => (before?.numeric[i] ?? true) && isNumeric(rows, i));
  return { natural, widths: width === null ? natural : shrinkColumns(natural, width), numeric };
}

function isSame(one: TableLayout, other: TableLayout): boolean {
  const { widths, numeric } = one;
  const isAsWide = widths?.every((each, i) => each === other.widths?.[i]) ?? false;
  return isAsWide && numeric.every((each, i) => each === other.numeric[i]);
}

function opening(heads: readonly string[], layout: TableLayout, widths: readonly number[]): string {
  return [rule(TOP, widths), line(heads, layout, widths), rule(MIDDLE, widths)].join('\n');
}

function line(texts: readonly string[], { numeric }: TableLayout, widths: readonly number[]): string {
  const padded = texts.map((text, i) => {
    const width = widths[i] as number;
    return pad(truncate(text, width), width, numeric[i] === true);
  });
  return `│ ${padded.join(' │ ')} │`;
}

function rule([left, middle, right]: readonly [string, string, string], widths: readonly number[]): string {
  return left + widths.map((each) => '─'.repeat(each + 2)).join(middle) + right;
}

/** The width of a table in which no cell is truncated. */
export function naturalWidth(columns: readonly string[], rows: readonly (readonly unknown[])[]): number {
  const widths = naturalWidths(
    columns.map(printable),
    rows.map((row) => row.map(cellText)),
  );
  return widths.reduce((sum, each) => sum + each + 3, 1);
}

function naturalWidths(heads: readonly string[], cells: readonly (readonly string[])[]): number[] {
  return heads.map((head, i) => Math.max(textWidth(head), longest(cells, i)));
}

function renderLists(
  heads: readonly string[],
  cells: readonly (readonly string[])[],
  width: number,
  before: number,
): string {
  const left = heads.reduce((most, head) => Math.max(most, textWidth(head)), 0);
  const lists = cells.map((row, n) => [
    `── row ${before + n + 1} `.padEnd(width, '─'),
    ...row.map((cell, i) => truncate(`${pad(heads[i] as string, left, false)} │ ${cell}`, width)),
  ]);
  return lists.length === 0 ? heads.join('\n') : lists.flat().join('\n');
}

const TOP = ['┌', '┬', '┐'] as const;
const MIDDLE = ['├', '┼', '┤'] as const;
const BOTTOM = ['└', '┴', '┘'] as const;

/** The text of a cell: NULL is unquoted, the string `NULL` is quoted; a BLOB is hexadecimal. */
function cellText(value: unknown): string {
  if (value === null) return 'NULL';
  if (value === 'NULL') return '"NULL"';
  return Buffer.isBuffer(value) ? value.toString('hex') : printable(String(value));
}

function isNumeric(rows: readonly (readonly unknown[])[], column: number): boolean {
  const values = rows.map((row) => row[column]).filter((value) => value !== null);
  return values.length > 0 && values.every((value) => typeof value === 'number' || typeof value === 'bigint');
}

function longest(cells: readonly (readonly string[])[], column: number): number {
  return cells.reduce((most, row) => Math.max(most, textWidth(row[column] as string)), 0);
}

/** A narrower column would be unreadable. */
const LEAST = 8;

/** Shrinks the widest columns until the table fits; null if it cannot fit. */
function shrinkColumns(widths: readonly number[], width: number): number[] | null {
  const room = width - 3 * widths.length - 1;
  const cutTo = (cap: number): number[] => widths.map((each) => Math.min(each, cap));
  const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);
  let cap = Math.max(LEAST, room);
  while (cap > LEAST && sum(cutTo(cap)) > room) cap--;
  let left = room - sum(cutTo(cap));
  if (left < 0) return null;
  return cutTo(cap).map((each, i) => each + Number(each < (widths[i] as number) && left-- > 0));
}

function pad(text: string, width: number, right: boolean): string {
  const blank = ' '.repeat(Math.max(0, width - textWidth(text)));
  return right ? blank + text : text + blank;
}
