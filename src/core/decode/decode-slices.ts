import type { Read } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import type { Page } from '../ports/source.ts';
import type { Stream } from '../stream.ts';
import { type DecodableStream, type DecodeContext, type DecodedPage, decodePage } from './decode.ts';

/** Decodes the items of a page for the read that requested it, slice by slice. */
export function decodeRead(
  stream: Stream,
  { as, history }: Pick<Read, 'as' | 'history'>,
  items: Page['items'],
  { newestReading, limits }: Pick<Context, 'newestReading' | 'limits'>,
): Iterable<DecodedPage> {
  // Only the ids of the parent's list are used (R18).
  if (as === 'unshown') return decodeSlices(PARENT_LIST, items, { limits });
  const context = { tombstones: as === 'tombstones', newestReading, limits };
  return decodeSlices(stream, items, history === null ? context : { ...context, testId: history.testId });
}

const PARENT_LIST: DecodableStream = { method: 'snapshot', key: ['id'], fields: {} };

/** Decodes a page as a whole, or a heavy page slice by slice (R27). There is at least one slice. */
export function* decodeSlices(
  stream: DecodableStream,
  items: Page['items'],
  context: DecodeContext,
): Generator<DecodedPage, void, undefined> {
  const slices = 'slices' in items ? items.slices : [() => items];
  for (const [i, parse] of slices.entries()) {
    const decoded = decodePage(stream, parse(), context);
    yield i < slices.length - 1 ? { ...decoded, isPart: true } : decoded;
  }
}
