import type { OutputStream } from './command.ts';

/** The width of a terminal, which may report 0 for unknown; null for other outputs, whose lines may be any length. */
export function widthOf(output: OutputStream): number | null {
  return output.isTTY === true ? columnsOf(output) : null;
}

export function columnsOf({ columns }: Pick<OutputStream, 'columns'>): number {
  return columns || 80;
}
