import type { CollectionEndpoint } from '../streams/endpoint.ts';

/** What the description calls a collection: the group of its operations, one of its items, many, and their schema. */
export interface CollectionNames {
  readonly tag: string;
  readonly one: string;
  readonly many: string;
  readonly item: string;
}

/** The words of the service, so that a client generated from the one description fits the other. */
export function namesOf({ noun, tag, item }: CollectionEndpoint): CollectionNames {
  const many = `${noun}s`;
  return { tag: tag ?? capitalised(many), one: noun, many, item: item ?? pascal(noun) };
}

const capitalised = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** `a` or `an`, and the word. */
export const withArticle = (words: string): string => `${/^[aeiou]/i.test(words) ? 'an' : 'a'} ${words}`;

/** `BI assets` as `BiAssets`. */
export const pascal = (words: string): string =>
  words
    .split(' ')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase())
    .join('');
