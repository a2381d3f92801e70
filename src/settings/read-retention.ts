import type { RetentionPolicy } from '../core/decide/retention.ts';
import { LOOKBACK_DAYS, SCORE_DAYS } from '../core/read-api.ts';
import { durationSeconds } from '../core/time/duration.ts';
import { flagOf, OptionError } from './option-error.ts';
import { OPTIONS, type RETENTION_OPTIONS } from './option-table.ts';
import type { SyncOptions } from './options.ts';

type RetentionOption = (typeof RETENTION_OPTIONS)[number];

const A_DAY = 86_400;

/** What is pruned must be older than what the service still shows, or the next read would bring it back. */
const [LEAST_SCORE_DAYS, LEAST_EXECUTION_DAYS] = [SCORE_DAYS + 1, LOOKBACK_DAYS];

/** How long histories are kept. @throws OptionError */
export function readRetention(options: Pick<SyncOptions, RetentionOption>): RetentionPolicy {
  return {
    thinScoresDays: readDays('thinScores', options.thinScores ?? OPTIONS.thinScores.default, LEAST_SCORE_DAYS),
    keepScoresDays: readDays('keepScores', options.keepScores ?? OFF, LEAST_SCORE_DAYS),
    keepExecutionsDays: readDays('keepExecutions', options.keepExecutions ?? OFF, LEAST_EXECUTION_DAYS),
    keepRunsDays: readDays('keepRuns', options.keepRuns ?? OPTIONS.keepRuns.default, 7),
  };
}

const OFF = 'off';

function readDays(name: RetentionOption, given: string, leastDays: number): number | null {
  if (given === OFF) return null;
  const seconds = durationSeconds(given);
  if (seconds !== null && seconds >= leastDays * A_DAY) return Math.floor(seconds / A_DAY);
  throw new OptionError(name, `--${flagOf(name)} needs at least ${leastDays} days, such as 120d, or off`);
}
