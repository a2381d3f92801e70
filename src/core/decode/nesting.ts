import { isJsonObject } from '../json.ts';

/** SQLite reads JSON only up to a thousand levels: one deeper value would break every statement that reads it. */
export const MAX_LEVELS = 900;

/** Whether arrays and objects are nested deeper than `levels`. A first sync calls this a million times. */
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
