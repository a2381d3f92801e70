import { addSeconds } from '../../../src/core/instant.ts';
import type { Moment } from './moment.ts';

/** A watermark moves back by nothing but a scan, and only from a time that is not believed: `clock` (R1). */
export function watermarkForward({ before, after, serverTime }: Moment): readonly string[] {
  if (before.watermark === null || (after.watermark !== null && after.watermark >= before.watermark)) return [];
  const isBelieved = serverTime === null || before.watermark <= addSeconds(serverTime, 3600);
  return before.round?.mode === 'scan' && !isBelieved
    ? []
    : [
        `the watermark moved back from ${before.watermark} to ${after.watermark} (${before.round?.reason ?? 'no round'})`,
      ];
}
