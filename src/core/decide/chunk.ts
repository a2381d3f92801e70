/** URLs stay below 8 KB (R12). This leaves room for the address, the other parameters and a cursor. */
const MAX_IDS_BYTES = 6500;

/** The API accepts at most 1000 values per parameter. */
const MAX_IDS = 1000;

/** The first ids that fit in one request, at least one: a single id always fits, because keys are limited (R20). */
export function firstChunk(parameter: string, ids: readonly string[]): readonly string[] {
  let bytes = 0;
  let count = 0;
  for (const id of ids.slice(0, MAX_IDS)) {
    // A lone surrogate cannot be encoded; it counts as its replacement character.
    bytes += parameter.length + 2 + encodeURIComponent(id.toWellFormed()).length;
    if (count > 0 && bytes > MAX_IDS_BYTES) break;
    count += 1;
  }
  return ids.slice(0, count);
}

/** Chunks of one request each, of at most `maxIds` ids. It ends because each chunk takes at least one id. */
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
