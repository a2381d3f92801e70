import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { DecodableStream, DecodedPage } from './decode.ts';
import { decodeSlices } from './decode-slices.ts';
import type { Page } from './source.ts';
import type { Stream } from './stream.ts';

/** The items of a page as the read that asked for it takes them, in slices. */
export function decodeRead(
  stream: Stream,
  { as }: Pick<Read, 'as'>,
  items: Page['items'],
  { latestServerTime }: Pick<Context, 'latestServerTime'>,
): Iterable<DecodedPage> {
  // Of the leading list nothing is taken but who is in it (R18).
  if (as === 'unshown') return decodeSlices(LEADING, items, {});
  return decodeSlices(stream, items, { tombstones: as === 'tombstones', latestServerTime });
}

const LEADING: DecodableStream = { method: 'snapshot', key: ['id'], fields: {} };
