import type { Read } from './checkpoint.ts';
import { type Decodable, type DecodedPage, decodePage } from './decode.ts';
import type { Stream } from './stream.ts';

/** The items of a page as the read that asked for it takes them. */
export function decodeRead(stream: Stream, { as }: Pick<Read, 'as'>, items: readonly unknown[]): DecodedPage {
  // Of the leading list nothing is taken but who is in it (R18).
  return as === 'unshown' ? decodePage(LEADING, items) : decodePage(stream, items, as === 'tombstones');
}

const LEADING: Decodable = { method: 'snapshot', key: ['id'], fields: {} };
