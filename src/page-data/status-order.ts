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
