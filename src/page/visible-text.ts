/**
 * Characters that are invisible or reverse the text after them, so one name can look like another: control characters,
 * and those that browsers ignore. Emoji variation selectors and joiners are left alone.
 */
const HIDDEN =
  /(?![\t\n\r\p{Variation_Selector}])(?!(?<=\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D)[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu;

/** Replaces such characters with their code points. */
export const visibleText = (text: string): string =>
  text.replace(HIDDEN, (character) => {
    const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `[U+${number}]`;
  });
