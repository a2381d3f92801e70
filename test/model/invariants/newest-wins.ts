import { FAR_FUTURE } from '../environment.ts';
import { instantText } from '../expected-rows.ts';
import { type CommitTransition, floorOf, isLive, isUntrusted, SOFT_DELETING, timeOf } from './commit-transition.ts';

/** No older row replaces a newer one or a newer tombstone, except where R10 lets a scan or a lookup by id win. */
export function newestWins(transition: CommitTransition): readonly string[] {
  const { stream, before, after, read } = transition;
  if (!SOFT_DELETING.includes(stream) || before.rows === after.rows) return [];
  const floor = read === null ? null : floorOf(read, transition);
  const stands = (time: string): boolean => floor === null || time > floor;
  return [...after.rows].flatMap(([key, row]) => {
    const old = before.rows.get(key);
    if (old === undefined) return [];
    const known = timeOf(old, 'synced_at');
    const isNone = known === instantText(FAR_FUTURE) || isUntrusted(known, transition);
    const [was, is] = [isNone ? '' : known, timeOf(row, 'synced_at')];
    const found = is < was && stands(was) ? [`${key} of ${was} was replaced by one of ${is}`] : [];
    const diedAt = old['deletion'] === 'tombstone' ? timeOf(old, 'deleted_at') : '';
    // On a tie, a lookup by id decides.
    const isDeleted = floor === null ? is <= diedAt : is < diedAt;
    if (isLive(row) && diedAt !== '' && isDeleted && stands(diedAt))
      found.push(`${key}, deleted at ${diedAt}, was restored by one of ${is}`);
    if (row['deletion'] === 'tombstone' && timeOf(row, 'deleted_at') < diedAt && read !== null)
      found.push(`${key}, deleted at ${diedAt}, was deleted by an older tombstone`);
    return found;
  });
}
