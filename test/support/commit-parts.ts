import type { Checkpoint } from '../../src/core/checkpoint.ts';
import type { Commit, PageCommit, RoundEnd, RoundEndCommit } from '../../src/core/ports/destination.ts';
import { LAST_INSTANT } from '../../src/core/time/instant.ts';

type WithoutCheckpoint<Each> = Each extends unknown ? Omit<Each, 'checkpoint'> : never;

/** A commit without its checkpoint; by default that of a page. */
export type CommitParts =
  | WithoutCheckpoint<Exclude<Commit, PageCommit>>
  | (Omit<PageCommit, 'checkpoint' | 'kind'> & { readonly kind?: 'page' });

export function commitOf(checkpoint: Checkpoint, parts: CommitParts): Commit {
  return { kind: 'page', ...parts, checkpoint };
}

/** The page's part of a commit; empty for any other commit. */
export function pageOf(commit: Commit): Partial<PageCommit> {
  return commit.kind === 'page' ? commit : {};
}

export function roundEndOf(commit: Commit): RoundEndCommit['roundEnd'] | undefined {
  return commit.kind === 'round-end' ? commit.roundEnd : undefined;
}

/** The end of a round that reads everything and changes nothing. */
export const PLAIN_ROUND_END: RoundEnd = {
  ...{ sweep: null, replace: null, through: null, marksThrough: null, rememberFrom: null },
  ...{ settledBefore: LAST_INSTANT, lastMark: 0, run: 1, isReleased: false, isWhole: true },
};
