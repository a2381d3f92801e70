/** URLs stay below 8 KB (R12); this leaves room for the address, the other parameters and a cursor. */
const MAX_IDS_BYTES = 6500;

/** The API takes at most 1000 values in one parameter. */
const MAX_IDS = 1000;

/**
 * The first ids, as many as one request can hold; at least one. No id is too long for a URL, because no key is (R20).
 */
export function firstChunk(parameter: string, ids: readonly string[]): readonly string[] {
  let bytes = 0;
  let count = 0;
  for (const id of ids.slice(0, MAX_IDS)) {
    bytes += parameter.length + 2 + encodedLength(id);
    if (count > 0 && bytes > MAX_IDS_BYTES) break;
    count += 1;
  }
  return ids.slice(0, count);
}

/**
 * The ids in chunks that one request each holds; a chunk has no more than `maxIds`. It ends: each chunk takes at least
 * one id.
 */
export function* chunksOf(
  parameter: string,
  ids: readonly string[],
  maxIds = MAX_IDS,
): Generator<readonly string[], void, undefined> {
  for (let at = 0; at < ids.length; ) {
    const chunk = firstChunk(parameter, ids.slice(at, at + maxIds));
    yield chunk;
    at += chunk.length;
  }
}

/** A lone surrogate cannot be encoded, so it counts as its replacement character. */
function encodedLength(id: string): number {
  return encodeURIComponent(id.toWellFormed()).length;
}
