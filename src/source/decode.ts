import { parseExactly } from '../core/json.ts';
import type { Page } from '../core/source.ts';

/** Reads the parsed body of an answer; null when it is not what it should be. */
export type Decode<T> = (body: unknown) => T | null;

/**
 * The envelope of a list: `items` is an array, `has_more` left out means false, `next_cursor` may be null. Anything
 * else of the wrong type makes it no envelope, since a page taken for the last one would end its read (R8).
 */
export function decodePage(body: unknown): Page | null {
  if (!isObject(body) || !isItems(body.items)) return null;
  const { items, has_more: hasMore = false, next_cursor: nextCursor = null } = body;
  if (typeof hasMore !== 'boolean') return null;
  if (nextCursor !== null && typeof nextCursor !== 'string') return null;
  return { items, hasMore, nextCursor: nextCursor === '' ? null : nextCursor };
}

/** An array, or what `parseHeavyPage` makes of one: no JSON has a symbol. */
function isItems(items: unknown): items is Page['items'] {
  return Array.isArray(items) || (typeof items === 'object' && items !== null && Symbol.iterator in items);
}

/** The number of table assets that an aggregated health score covers. */
export function decodeMatchedCount(body: unknown): number | null {
  const count = isObject(body) ? body.matched_count : null;
  return Number.isSafeInteger(count) && Number(count) >= 0 ? Number(count) : null;
}

/** The list of environments is a bare array; an envelope, which may be one page of several, is taken as well. */
export function decodeEnvironments(body: unknown): Page | null {
  return Array.isArray(body) ? { items: body, hasMore: false, nextCursor: null } : decodePage(body);
}

/** The envelope of an error: its code, which decides, and its message, which is only shown; null when it is none. */
export function decodeError(body: unknown): { code: string; message: string } | null {
  if (!isObject(body) || !isObject(body.error)) return null;
  const { code, message } = body.error;
  return typeof code === 'string' ? { code, message: typeof message === 'string' ? message : '' } : null;
}

/** The JSON a body holds, numbers as they were sent (R19); undefined when it holds none. */
export function parseJson(body: Uint8Array): unknown {
  try {
    return parseExactly(UTF8.decode(body));
  } catch {
    return undefined;
  }
}

/** Strict, because a key with a replaced character would be another key. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
