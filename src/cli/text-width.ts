import { eastAsianWidth } from 'get-east-asian-width';

let segmenter: Intl.Segmenter | null = null;

/** Creating a segmenter takes longer than the rest of a command's start-up, so only texts that need it get one. */
function graphemes(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

/** The number of terminal columns that a text occupies. */
export function textWidth(text: string): number {
  // The range includes dashes, quotation marks and `…`.
  if (/^[\x20-\x7e\u2010-\u2027]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text)) width += widthOfGrapheme(segment);
  return width;
}

const EMOJI = /^\p{Emoji_Presentation}|\ufe0f/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

function widthOfGrapheme(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return EMOJI.test(grapheme) ? 2 : eastAsianWidth(grapheme.codePointAt(0) ?? 0);
}

/** Cuts a text that is wider than `width` columns, and ends it with `…`. */
export function truncate(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let truncated = '';
  let left = width - 1;
  for (const { segment } of graphemes(text)) {
    left -= widthOfGrapheme(segment);
    if (left < 0) break;
    truncated += segment;
  }
  return `${truncated}…`;
}
