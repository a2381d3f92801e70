import { isJsonObject } from '../json.ts';

/** SQLite cannot read JSON deeper than a thousand levels: such a value would break every statement that reads it. */
export const MOST_LEVELS = 900;

/**
 * Whether arrays and objects are nested more than so many levels deep. It is called a million times in a first sync.
 */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === 'object' && isDeeper(element, levels - 1)) return true;
    return false;
  }
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof member === 'object' && isDeeper(member, levels - 1)) return true;
  }
  return false;
}

/** What is kept of an item that is nested too deeply: its values, without arrays and objects. */
export function truncateNesting(item: unknown): unknown {
  if (!isJsonObject(item)) return CUT;
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, typeof value === 'object' && value !== null ? CUT : value]),
  );
}

const CUT = '(nested too deeply)';
