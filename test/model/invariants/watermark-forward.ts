import { addSeconds } from '../../../src/core/instant.ts';
import { FED, type Moment } from './moment.ts';

/**
 * A watermark moves back only to the T of a round's first page, where the service's clock was set back before that; one that
 * was not believed then, only by a scan (R1).
 */
export function watermarkForward({ stream, before, after, serverTime, overlapSeconds }: Moment): readonly string[] {
  const { watermark, round } = before;
  if (watermark === null || (after.watermark !== null && after.watermark >= watermark)) return [];
  const first = round?.firstPageAt ?? serverTime;
  const isBelieved = first !== null && watermark <= addSeconds(first, Math.min(3600, overlapSeconds));
  const isReadWhole = round?.mode === 'scan' || !FED.includes(stream);
  return after.watermark === first && (isBelieved || isReadWhole)
    ? []
    : [`the watermark moved back from ${watermark} to ${after.watermark} (${round?.reason ?? 'no round'})`];
}
