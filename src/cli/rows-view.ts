import { isDeepStrictEqual } from 'node:util';
import { printable } from './printable.ts';
import type { RowPortions } from './rows-text.ts';
import { textWidth, truncate } from './text-width.ts';

type ResultRows = readonly (readonly unknown[])[];

/**
 * Renders rows as a table. If it is wider than `width`, the longest cells are truncated with `…`. If the cells would
 * become too short to read, each row becomes a list. A `width` of null means no limit.
 */
export function renderTable(columns: readonly string[], rows: ResultRows, width: number | null): string {
  const portion = measure(columns, rows);
  const layout = layoutOf(portion, width, null);
  return [...topOf(portion, layout), ...linesOf(portion, layout, 0), ...bottomOf(layout)].join('\n');
}

/** `renderTable` for any number of rows. A new table starts whenever later rows need wider columns. */
export async function* tableText(
  columns: readonly string[],
  portions: RowPortions,
  width: number | null,
): AsyncGenerator<string> {
  let layout: TableLayout | null = null;
  let shown = 0;
  for await (const rows of portions) {
    if (rows.length === 0) continue;
    const portion = measure(columns, rows);
    const next = layoutOf(portion, width, layout);
    const continues = layout?.widths && isDeepStrictEqual([layout.widths, layout.numeric], [next.widths, next.numeric]);
    const heads = continues ? [] : [...bottomOf(layout), ...topOf(portion, next)];
    yield `${[...heads, ...linesOf(portion, next, shown)].join('\n')}\n`;
    layout = next;
    shown += rows.length;
  }
  for (const rest of layout === null ? [renderTable(columns, [], width)] : bottomOf(layout)) yield `${rest}\n`;
}

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
  if (width === null || spares[last] === 0 || sum(measure(heads, cells).natural) <= roomIn(width, heads.length))
    return renderTable(heads, cells, width);
  return renderFitting(columns.toSpliced(last, 1), rows, width);
}

interface TablePortion {
  readonly heads: readonly string[];
  readonly cells: readonly (readonly string[])[];
  /** Column widths if no cell is truncated. */
  readonly natural: readonly number[];
  /** Which columns contain numbers, which are aligned right. */
  readonly numeric: readonly boolean[];
}

function measure(columns: readonly string[], rows: ResultRows): TablePortion {
  const heads = columns.map(printable);
  const cells = rows.map((row) => row.map(cellText));
  const longest = (most: number, column: number): number =>
    cells.reduce((longer, row) => Math.max(longer, textWidth(row[column] as string)), most);
  const natural = heads.map((head, i) => longest(textWidth(head), i));
  return { heads, cells, natural, numeric: heads.map((_, i) => isNumeric(rows, i)) };
}

/** How all rows so far are shown. */
interface TableLayout extends Pick<TablePortion, 'natural' | 'numeric'> {
  /** The width of the terminal. */
  readonly width: number | null;
  /** Column widths as shown; null if there are too many columns for the width. */
  readonly widths: readonly number[] | null;
}

function layoutOf(portion: TablePortion, width: number | null, before: TableLayout | null): TableLayout {
  const natural = portion.natural.map((each, i) => Math.max(each, before?.natural[i] ?? 0));
  const numeric = portion.numeric.map((each, i) => each && (before?.numeric[i] ?? true));
  return { natural, numeric, width, widths: width === null ? natural : shrinkColumns(natural, width) };
}

function topOf({ heads }: TablePortion, { widths, numeric }: TableLayout): string[] {
  return widths === null ? [] : [rule(TOP, widths), line(heads, numeric, widths), rule(MIDDLE, widths)];
}

function bottomOf(layout: TableLayout | null): string[] {
  return layout?.widths ? [rule(BOTTOM, layout.widths)] : [];
}

/** The lines of the rows, of which the first one is preceded by `before` others. */
function linesOf({ heads, cells }: TablePortion, { widths, numeric, width }: TableLayout, before: number): string[] {
  if (widths !== null) return cells.map((row) => line(row, numeric, widths));
  const left = Math.max(...heads.map(textWidth));
  const lists = cells.flatMap((row, n) => [
    `── row ${before + n + 1} `.padEnd(width as number, '─'),
    ...row.map((cell, i) => truncate(`${pad(heads[i] as string, left, false)} │ ${cell}`, width as number)),
  ]);
  return lists.length === 0 ? [...heads] : lists;
}

function line(texts: readonly string[], numeric: readonly boolean[], widths: readonly number[]): string {
  const padded = texts.map((text, i) => {
    const width = widths[i] as number;
    return pad(truncate(text, width), width, numeric[i] === true);
  });
  return `│ ${padded.join(' │ ')} │`;
}

function rule([left, middle, right]: readonly [string, string, string], widths: readonly number[]): string {
  return left + widths.map((each) => '─'.repeat(each + 2)).join(middle) + right;
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

function isNumeric(rows: ResultRows, column: number): boolean {
  const values = rows.map((row) => row[column]).filter((value) => value !== null);
  return values.length > 0 && values.every((value) => typeof value === 'number' || typeof value === 'bigint');
}

/** A narrower column would be unreadable. */
const LEAST = 8;

/** Shrinks the widest columns until the table fits; null if it cannot fit. */
function shrinkColumns(widths: readonly number[], width: number): number[] | null {
  const room = roomIn(width, widths.length);
  const cutTo = (cap: number): number[] => widths.map((each) => Math.min(each, cap));
  let cap = Math.max(LEAST, room);
  while (cap > LEAST && sum(cutTo(cap)) > room) cap--;
  let left = room - sum(cutTo(cap));
  if (left < 0) return null;
  return cutTo(cap).map((each, i) => each + Number(each < (widths[i] as number) && left-- > 0));
}

const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);

/** What the frame of a table leaves for the cells. */
const roomIn = (width: number, columns: number): number => width - 3 * columns - 1;

function pad(text: string, width: number, right: boolean): string {
  const blank = ' '.repeat(Math.max(0, width - textWidth(text)));
  return right ? blank + text : text + blank;
}
