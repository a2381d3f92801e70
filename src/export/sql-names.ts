export function quoteName(name: string): string {
  return `"${name}"`;
}

/** For a list of columns. */
export const quotedNames = (names: readonly string[]): string => names.map(quoteName).join(', ');
