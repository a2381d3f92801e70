import type { RetentionPolicy } from '../core/decide/retention.ts';
import { durationSeconds } from '../core/time/duration.ts';
import { flagOf, OptionError } from './option-error.ts';
import { OPTIONS, type RETENTION_OPTIONS } from './option-table.ts';
import type { SyncOptions } from './options.ts';

type RetentionOption = (typeof RETENTION_OPTIONS)[number];

const A_DAY = 86_400;

/**
 * How long histories are kept. The service shows executions for 90 days and scores for 7: what is pruned must be older,
 * or the next read would bring it back.
 * @throws OptionError
 */
export function readRetention(options: Pick<SyncOptions, RetentionOption>): RetentionPolicy {
  return {
    thinScoresDays: readDays('thinScores', options.thinScores ?? OPTIONS.thinScores.default, 8),
    keepScoresDays: readDays('keepScores', options.keepScores ?? OFF, 8),
    keepExecutionsDays: readDays('keepExecutions', options.keepExecutions ?? OFF, 90),
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
