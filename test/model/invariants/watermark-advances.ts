import type { CommitTransition } from './commit-transition.ts';

/** A watermark never moves back, unless it was ahead of every reading of the server's clock (R1). */
export function watermarkAdvances({ before, after, latest }: CommitTransition): readonly string[] {
  const { watermark, round } = before;
  if (watermark === null || (after.watermark !== null && after.watermark >= watermark)) return [];
  return latest !== null && watermark > latest
    ? []
    : [`the watermark moved back from ${watermark} to ${after.watermark} (${round?.reason ?? 'no round'})`];
}
