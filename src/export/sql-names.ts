export function quoted(name: string): string {
  return `"${name}"`;
}

/** For a list of columns. */
export const listed = (names: readonly string[]): string => names.map(quoted).join(', ');
