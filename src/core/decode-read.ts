import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { DecodableStream, DecodedPage } from './decode.ts';
import { decodeSlices } from './decode-slices.ts';
import type { Page } from './source.ts';
import type { Stream } from './stream.ts';

/** Decodes the items of a page for the read that asked for it, slice by slice. */
export function decodeRead(
  stream: Stream,
  { as }: Pick<Read, 'as'>,
  items: Page['items'],
  { newestReading, limits }: Pick<Context, 'newestReading' | 'limits'>,
): Iterable<DecodedPage> {
  // Of the parent's list, only the ids are used (R18).
  if (as === 'unshown') return decodeSlices(PARENT_LIST, items, { limits });
  return decodeSlices(stream, items, { tombstones: as === 'tombstones', newestReading, limits });
}

const PARENT_LIST: DecodableStream = { method: 'snapshot', key: ['id'], fields: {} };
