import { capitalize } from '../core/capitalize.ts';
import type { CollectionEndpoint } from '../streams/endpoint.ts';

/** The names of a collection in the OpenAPI document: its tag, one item, many items, and the item's schema. */
export interface CollectionNames {
  readonly tag: string;
  readonly one: string;
  readonly many: string;
  readonly item: string;
}

/** These are the service's own names, so a client generated from one document works with the other. */
export function namesOf({ noun, tag, item }: CollectionEndpoint): CollectionNames {
  const many = `${noun}s`;
  return { tag: tag ?? capitalize(many), one: noun, many, item: item ?? pascal(noun) };
}

/** The words with `a` or `an`. */
export const withArticle = (words: string): string => `${/^[aeiou]/i.test(words) ? 'an' : 'a'} ${words}`;

/** `BI assets` as `BiAssets`. */
export const pascal = (words: string): string =>
  words
    .split(' ')
    .map((word) => capitalize(word.toLowerCase()))
    .join('');
