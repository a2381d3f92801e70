import { isJsonObject, parseExactly } from '../core/json.ts';
import type { Page } from '../core/ports/source.ts';

/** Decodes the parsed body of a response; returns null if it does not have the expected form. */
export type BodyDecoder<T> = (body: unknown) => T | null;

/**
 * The envelope of a list: `items` is an array, a missing `has_more` means false, `next_cursor` may be null. A body with
 * a value of another type is not an envelope: taking it for the last page would end the read too early (R8).
 */
export function decodeEnvelope(body: unknown): Page | null {
  if (!isJsonObject(body) || !isItems(body.items)) return null;
  const { items, has_more: hasMore = false, next_cursor: nextCursor = null } = body;
  if (typeof hasMore !== 'boolean') return null;
  if (nextCursor !== null && typeof nextCursor !== 'string') return null;
  return { items, hasMore, nextCursor: nextCursor === '' ? null : nextCursor };
}

/** An array, or the iterable that `parseHeavyPage` returns instead. Parsed JSON never has a symbol. */
function isItems(items: unknown): items is Page['items'] {
  return Array.isArray(items) || (typeof items === 'object' && items !== null && Symbol.iterator in items);
}

/** The number of table assets that an aggregated health score covers; null for any other body. */
export function decodeMatchedCount(body: unknown): number | null {
  const count = isJsonObject(body) ? body.matched_count : null;
  return Number.isSafeInteger(count) && Number(count) >= 0 ? Number(count) : null;
}

/** The environments come as a bare array or as an envelope, which may be one page of several. */
export function decodeEnvironments(body: unknown): Page | null {
  return Array.isArray(body) ? { items: body, hasMore: false, nextCursor: null } : decodeEnvelope(body);
}

/** The envelope of an error; null for any other body. Decisions depend on `code`; `message` is only displayed. */
export function decodeError(body: unknown): { code: string; message: string } | null {
  if (!isJsonObject(body) || !isJsonObject(body.error)) return null;
  const { code, message } = body.error;
  return typeof code === 'string' ? { code, message: typeof message === 'string' ? message : '' } : null;
}

/** The parsed body, with its numbers as they were sent (R19); undefined if it is not JSON. */
export function parseJson(body: Uint8Array): unknown {
  try {
    return parseExactly(UTF8.decode(body));
  } catch {
    return undefined;
  }
}

/** Strict, because a key with a replacement character would be a different key. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });
