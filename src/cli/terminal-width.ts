import type { Output } from './command.ts';

/**
 * The width of a terminal in columns; null for other outputs, which accept lines of any length. A terminal may report
 * 0, which means unknown.
 */
export function widthOf(output: Output): number | null {
  return output.isTTY === true ? columnsOf(output) : null;
}

export function columnsOf({ columns }: Pick<Output, 'columns'>): number {
  return columns || 80;
}
