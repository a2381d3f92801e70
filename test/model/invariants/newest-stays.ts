import { instantText } from '../compare.ts';
import { FAR_AHEAD } from '../place.ts';
import { FED, floorOf, isLive, type Moment, timeOf } from './moment.ts';

/** No row replaced by an older one, nor brought back against its tombstone, but as R10 lets a scan or an answer by ids. */
export function newestStays(moment: Moment): readonly string[] {
  const { stream, before, after, walk } = moment;
  if (!FED.includes(stream)) return [];
  const floor = walk === null ? null : floorOf(walk, moment);
  const stands = (time: string): boolean => floor === null || time > floor;
  return [...after.rows].flatMap(([key, row]) => {
    const old = before.rows.get(key);
    if (old === undefined) return [];
    // A time that is not believed counts as none.
    const known = timeOf(old, 'synced_at');
    const [was, is] = [known === instantText(FAR_AHEAD) ? '' : known, timeOf(row, 'synced_at')];
    const found = is < was && stands(was) ? [`${key} of ${was} was replaced by one of ${is}`] : [];
    const diedAt = old['deletion'] === 'tombstone' ? timeOf(old, 'deleted_at') : '';
    // On a tie, an answer by ids decides.
    const isBuried = floor === null ? is <= diedAt : is < diedAt;
    if (isLive(row) && diedAt !== '' && isBuried && stands(diedAt))
      found.push(`${key}, dead since ${diedAt}, was brought back by one of ${is}`);
    if (row['deletion'] === 'tombstone' && timeOf(row, 'deleted_at') < diedAt && walk !== null)
      found.push(`${key}, dead since ${diedAt}, was buried by an older tombstone`);
    return found;
  });
}
