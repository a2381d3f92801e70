import type { OutputStream } from './command.ts';

/**
 * The width of a terminal in columns; null for other outputs, which accept lines of any length. A terminal may report
 * 0, which means unknown.
 */
export function widthOf(output: OutputStream): number | null {
  return output.isTTY === true ? columnsOf(output) : null;
}

export function columnsOf({ columns }: Pick<OutputStream, 'columns'>): number {
  return columns || 80;
}
