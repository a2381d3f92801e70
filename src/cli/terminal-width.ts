/**
 * The width of a terminal in columns; null for other outputs, which accept lines of any length. A terminal may report
 * 0, which means unknown.
 */
export function widthOf(stream: { readonly columns?: number | undefined }, isTerminal: boolean): number | null {
  return isTerminal ? columnsOf(stream) : null;
}

export function columnsOf({ columns }: { readonly columns?: number | undefined }): number {
  return columns || 80;
}
