import type { Read } from './checkpoint.ts';
import type { Context } from './context.ts';
import { type Decodable, type DecodedPage, decodePage } from './decode.ts';
import type { Stream } from './stream.ts';

/** The items of a page as the read that asked for it takes them. */
export function decodeRead(
  stream: Stream,
  { as }: Pick<Read, 'as'>,
  items: readonly unknown[],
  { latest }: Pick<Context, 'latest'>,
): DecodedPage {
  // Of the leading list nothing is taken but who is in it (R18).
  if (as === 'unshown') return decodePage(LEADING, items);
  return decodePage(stream, items, { tombstones: as === 'tombstones', latest });
}

const LEADING: Decodable = { method: 'snapshot', key: ['id'], fields: {} };
