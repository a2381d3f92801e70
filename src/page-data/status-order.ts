import { textOf } from './page-scope.ts';
import type { SqlRow } from './sql.ts';

/** The verdicts, worst first. Any other status is not a verdict. */
const WORST_FIRST = ['ERROR', 'FAIL', 'WARN', 'PASS'];

export function rankOf(status: string | null): number {
  const rank = WORST_FIRST.indexOf(status ?? '');
  return rank === -1 ? WORST_FIRST.length : rank;
}

/** The worse of two statuses. A status that is not a verdict counts only if the other is null. */
export function worseStatus(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return rankOf(other) < rankOf(one) ? other : one;
}

/** The worst `status` of groups of `sub_tests` results, and how many of the results fail; `fails` is 0 or 1. */
export const verdictOf = (results: readonly SqlRow[]) => ({
  status: results.map((row) => textOf(row['status'])).reduce(worseStatus, null),
  failing_count: results.reduce((sum, row) => sum + Number(row['fails']) * Number(row['sub_tests']), 0),
});
