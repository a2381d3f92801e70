import { type DecodableStream, type DecodeContext, type DecodedPage, decodePage } from './decode.ts';
import type { Page } from './source.ts';

/** Decodes a page as a whole, or a heavy page slice by slice (R27). There is at least one slice. */
export function* decodeSlices(
  stream: DecodableStream,
  items: Page['items'],
  decodeContext: DecodeContext,
): Generator<DecodedPage, void, undefined> {
  const slices = 'slices' in items ? items.slices : [() => items];
  for (const [i, parse] of slices.entries()) {
    const decoded = decodePage(stream, parse(), decodeContext);
    yield i < slices.length - 1 ? { ...decoded, isPart: true } : decoded;
  }
}
