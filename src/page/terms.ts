import type { TermName } from './term-places.ts';

/** The build inserts the dictionary's sentences here. */
declare const TERM_TEXTS: Readonly<Record<TermName, string>>;

export const TERMS: Readonly<Record<TermName, string>> = TERM_TEXTS;
