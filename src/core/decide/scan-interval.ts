import type { Checkpoint } from '../checkpoint.ts';
import type { DecisionOptions } from '../context.ts';
import { addDays, addSeconds, type Instant } from '../time/instant.ts';

/** The longest time between two scans of a stream under `auto` (R13). */
export const MAX_AUTO_DAYS = 7;

const MIN_AUTO_SECONDS = 3600;

/** So a stream's scans take at most six requests an hour on average. */
const AUTO_SECONDS_PER_PAGE = 600;

/** When the next scan of a stream is due by the time of its last one (R13); null before its first scan has ended. */
export function nextScanAt(
  { scanEndedAt, scanPages }: Pick<Checkpoint, 'scanEndedAt' | 'scanPages'>,
  { fullEveryDays }: Pick<DecisionOptions, 'fullEveryDays'>,
): Instant | null {
  if (scanEndedAt === null) return null;
  if (fullEveryDays !== 'auto') return addDays(scanEndedAt, fullEveryDays);
  const seconds = Math.min(MAX_AUTO_DAYS * 86_400, scanPages * AUTO_SECONDS_PER_PAGE);
  return addSeconds(scanEndedAt, Math.max(MIN_AUTO_SECONDS, seconds));
}
