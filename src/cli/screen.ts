/** The columns of a terminal; null for what is none, and takes lines of any length. One that tells of 0 columns does not know. */
export function widthOf(stream: { readonly columns?: number | undefined }, isTerminal: boolean): number | null {
  return isTerminal ? columnsOf(stream) : null;
}

export function columnsOf({ columns }: { readonly columns?: number | undefined }): number {
  return columns || 80;
}
