import type { RetentionPolicy } from '../../src/core/decide/retention.ts';

/** The least that the options allow. */
export const SHORTEST_RETENTION: RetentionPolicy = {
  ...{ thinScoresDays: 8, keepScoresDays: 30, keepExecutionsDays: 90, keepRunsDays: 7 },
};
