import { FAILING_STATUSES } from '../read-api.ts';
import type { AlertCondition, AlertEnvironment, AlertRule } from './alert.ts';

/**
 * Whether a rule's condition holds. `unknown` is a result that neither passed nor failed, such as `SKIPPED`: it changes
 * nothing, as in `test_incidents`.
 */
export function ruleState(
  rule: AlertRule,
  condition: AlertCondition,
  environment: AlertEnvironment | null,
): 'holds' | 'unknown' | 'no' {
  if (!matches(rule, condition, environment)) return 'no';
  const { status = null, value = null, earlier = null, dimension } = condition.facts;
  switch (condition.kind) {
    case 'test':
      if (!FAILING_STATUSES.some((each) => each === status)) return 'unknown';
      return allows(rule.statuses, [status]) ? 'holds' : 'no';
    case 'score':
      if (!allows(rule.dimensions, [dimension ?? 'total'])) return 'no';
      return value !== null && isLow(rule, value, earlier) ? 'holds' : 'no';
    case 'stale':
      return isStale(value, rule.maxAgeSeconds) ? 'holds' : 'no';
    default:
      return 'holds';
  }
}

/** Whether a stream that runs read is too old; one that was never read to its end has no age, and is. */
export function isStale(ageSeconds: number | null, maxAgeSeconds: number): boolean {
  return ageSeconds === null || ageSeconds > maxAgeSeconds;
}

function isLow({ below, by }: AlertRule, score: number, earlier: number | null): boolean {
  // Scores are fractions: 0.9 - 0.8 is less than 0.1 in binary.
  const hasFallen = by !== null && earlier !== null && earlier - score >= by - 1e-9;
  return (below !== null && score < below) || hasFallen;
}

function matches(rule: AlertRule, { facts }: AlertCondition, environment: AlertEnvironment | null): boolean {
  const { severity = null, tags = [], owners = [], paths = [] } = facts;
  return (
    allows(rule.environments, environment === null ? [] : [environment.id, environment.name]) &&
    allows(rule.severities, [severity]) &&
    allows(rule.tags, tags) &&
    allows(rule.owners, owners) &&
    (rule.paths.length === 0 || rule.paths.some((start) => paths.some((path) => startsWith(path, start))))
  );
}

const startsWith = (path: string, start: string): boolean => path.toLowerCase().startsWith(start.toLowerCase());

/** Whether one of the values is in the list, without regard to case; an empty list allows everything. */
function allows(list: readonly string[], values: readonly (string | null)[]): boolean {
  const allowed = list.map((each) => each.toLowerCase());
  return list.length === 0 || values.some((value) => value !== null && allowed.includes(value.toLowerCase()));
}
