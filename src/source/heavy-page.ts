import type { SlicedItems } from '../core/ports/source.ts';
import { collectGarbage } from './collect-garbage.ts';
import { parseJson } from './envelope.ts';

/** The items of a slice are parsed together and have about this many bytes. */
const SLICE_BYTES = 64 * 1024;

/**
 * The envelope of a heavy list. Its items stay bytes until they are read (R27); each is parsed once in advance to
 * validate it. Null for a body of another form, undefined for one that is not JSON.
 */
export function parseHeavyPage(body: Buffer, sliceBytes = SLICE_BYTES): object | null | undefined {
  const place = findItems(body, sliceBytes);
  if (place === null) return null;
  const { start, end, commas } = place;
  const envelope = parseJson(Buffer.concat([body.subarray(0, start), body.subarray(end)])) as object | undefined;
  const slices = [...commas, end].map((until, i) => body.subarray(i === 0 ? start : (commas[i - 1] ?? 0) + 1, until));
  const length = countItems(slices);
  return envelope === undefined || length === null ? undefined : { ...envelope, items: itemsOf(slices, length) };
}

/** Null if one of the slices is not JSON. */
function countItems(slices: readonly Buffer[]): number | null {
  let length = 0;
  for (const slice of slices) {
    const items = parseSlice(slice);
    if (items === undefined || (slices.length > 1 && items.length === 0)) return null;
    length += items.length;
  }
  return length;
}

function itemsOf(slices: readonly Buffer[], length: number): SlicedItems {
  const parsers = slices.map((slice, i) => () => {
    if (i % SLICES_PER_COLLECTION === 0) collectGarbage();
    return parseSlice(slice) ?? [];
  });
  return {
    length,
    slices: parsers,
    *[Symbol.iterator]() {
      for (const parse of parsers) yield* parse();
    },
  };
}

/** After this many slices, the memory of their rows is freed; otherwise it would grow to the size of the whole page. */
const SLICES_PER_COLLECTION = 64;

function parseSlice(slice: Buffer): readonly unknown[] | undefined {
  return parseJson(Buffer.concat([OPEN, slice, CLOSE])) as readonly unknown[] | undefined;
}

const [OPEN, CLOSE] = [Buffer.from('['), Buffer.from(']')];

const [QUOTE, BACKSLASH, COMMA, BRACE, END_BRACE, BRACKET, END_BRACKET] = Buffer.from(
  '"\\,{}[]',
) as unknown as CharacterCodes;
type CharacterCodes = [number, number, number, number, number, number, number];

/**
 * The byte range of the elements of `items`, and the commas after which further slices begin. Null if the list has no
 * array `items`, or two of them. The contents of strings are skipped.
 */
function findItems(body: Buffer, sliceBytes: number) {
  const commas: number[] = [];
  let [start, end, cutAt, depth] = [-1, -1, 0, 0];
  // The name of the current member; null where a name is expected.
  let name: string | null = null;
  for (let at = 0; at < body.length; at++) {
    switch (body[at]) {
      case QUOTE: {
        const quote = endOfString(body, at);
        if (depth === 1) name ??= body.toString('latin1', at + 1, quote);
        // A name with an escape may be another spelling of `items`.
        if (depth === 1 && name?.includes('\\')) return null;
        at = quote;
        break;
      }
      case COMMA:
        if (depth === 1) name = null;
        if (depth !== 2 || start < 0 || end >= 0 || at < cutAt) break;
        commas.push(at);
        cutAt = at + sliceBytes;
        break;
      case BRACKET:
        depth += 1;
        if (depth !== 2 || name !== 'items') break;
        if (start >= 0) return null;
        start = at + 1;
        cutAt = start + sliceBytes;
        break;
      case BRACE:
        depth += 1;
        break;
      case END_BRACE:
      case END_BRACKET:
        depth -= 1;
        if (depth === 1 && start >= 0 && end < 0) end = at;
    }
  }
  return end < 0 ? null : { start, end, commas };
}

/**
 * The position of the quotation mark that ends the string starting at `start`; the length of the body if there is none.
 */
function endOfString(body: Buffer, start: number): number {
  for (let at = body.indexOf(QUOTE, start + 1); at >= 0; at = body.indexOf(QUOTE, at + 1)) {
    let first = at;
    while (body[first - 1] === BACKSLASH) first -= 1;
    if ((at - first) % 2 === 0) return at;
  }
  return body.length;
}
