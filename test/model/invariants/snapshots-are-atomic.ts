import { SNAPSHOT_STREAMS } from '../../support/catalogue.ts';
import { roundEndOf } from '../../support/commit-parts.ts';
import { type CommitTransition, includesRow } from './commit-transition.ts';

/** A snapshot changes only at its end, never at one of its pages (R16). */
export function snapshotsAreAtomic({ stream, commit, before, after }: CommitTransition): readonly string[] {
  if (roundEndOf(commit) || commit.kind === 'mark-held' || !SNAPSHOT_STREAMS.includes(stream)) return [];
  if (before.rows === after.rows) return [];
  const same = before.rows.size === after.rows.size;
  return same && [...after.rows].every(([key, row]) => includesRow(before.rows.get(key) ?? {}, row))
    ? []
    : ['a page changed the snapshot'];
}
