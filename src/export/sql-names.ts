export function quoteName(name: string): string {
  return `"${name}"`;
}

export const quotedNames = (names: readonly string[]): string => names.map(quoteName).join(', ');
