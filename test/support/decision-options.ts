import type { DecisionOptions } from '../../src/core/context.ts';

/** The defaults of the options that decisions depend on, but weekly scans: between them, tests watch the feeds. */
export const DECISION_OPTIONS = {
  full: false,
  fullEveryDays: 7,
  graceSeconds: 86_400,
  overlapSeconds: 3600,
  pageSize: 2000,
  allowShrink: false,
  retention: { thinScoresDays: 90, keepScoresDays: null, keepExecutionsDays: null, keepRunsDays: 90 },
} as const satisfies DecisionOptions;
