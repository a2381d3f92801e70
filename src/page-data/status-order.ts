/** The verdicts of results, the worst first. Any other status is none. */
const WORST_FIRST = ['ERROR', 'FAIL', 'WARN', 'PASS'];

/** The statuses of a failing test, as a list in SQL. */
export const FAILING = `('WARN', 'FAIL', 'ERROR')`;

/** The place of a status among all, the worst first. */
export function rankOf(status: string | null): number {
  const rank = WORST_FIRST.indexOf(status ?? '');
  return rank === -1 ? WORST_FIRST.length : rank;
}

/** The worse of two statuses; one that is no verdict counts only where there is no other. */
export function worseStatus(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return rankOf(other) < rankOf(one) ? other : one;
}
