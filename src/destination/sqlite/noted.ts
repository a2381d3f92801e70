import type { StreamName } from '../../core/stream.ts';

/** The keys that a page has shown, which no file has yet. */
export interface NotedPage {
  readonly envId: string;
  readonly stream: StreamName;
  readNumber: number;
  /** JSON, as in `seen_pages`. */
  readonly keys: string;
  /** Whether `seen_keys` has them. */
  isBrought: boolean;
}

/**
 * Keys seen in the transaction under way. They come into the file when that ends: those of a round that ends in it never have to.
 * Only the transaction that noted them may leave any here.
 */
export interface NotedKeys {
  pages: NotedPage[];
}

/** As much may wait; what it is made of takes several times the memory. */
const MOST_CHARACTERS = 2_000_000;

export function isMuch({ pages }: NotedKeys): boolean {
  return pages.reduce((sum, { keys }) => sum + keys.length, 0) > MOST_CHARACTERS;
}
