/**
 * Characters that show nothing, or turn the text after them around, so that one name can look like another: controls,
 * and what browsers ignore. Those that choose the look of an emoji, or join several, are left alone.
 */
const HIDDEN =
  /(?![\t\n\r\p{Variation_Selector}])(?!(?<=\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D)[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu;

/** The text with such characters replaced by their numbers. */
export const visibleText = (text: string): string =>
  text.replace(HIDDEN, (character) => {
    const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `[U+${number}]`;
  });
