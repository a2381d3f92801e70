import type { TrendGroup } from '../../page-data/page-data.ts';
import { formatFraction } from '../format.ts';
import type { StatusLevel } from '../parts/status.ts';

/** The pass rate of a range of days; null if nothing ran then. */
function passRateOf({ run_count, pass_rate }: TrendGroup, from: number, to: number): number | null {
  const days = pass_rate
    .slice(from, to)
    .map((rate, i) => ({ rate, count: rate === null ? 0 : (run_count[from + i] ?? 0) }));
  const runs = sumOf(days.map(({ count }) => count));
  return runs === 0 ? null : sumOf(days.map(({ rate, count }) => count * (rate ?? 0))) / runs;
}

export type TrendChange = ReturnType<typeof changeOf>;

/** Where the newer half of the days begins. Days before the very first run are left out: nothing is known of them. */
export function midpointOf(groups: readonly TrendGroup[]): number {
  const days = groups[0]?.run_count.length ?? 0;
  const firsts = groups.map(({ run_count }) => run_count.findIndex((count) => count > 0)).filter((first) => first >= 0);
  return Math.floor((Math.min(days, ...firsts) + days) / 2);
}

/** The pass rate from this day on, and of the days before it. */
export const changeOf = (group: TrendGroup, midpoint: number) => ({
  now: passRateOf(group, midpoint, group.run_count.length),
  before: passRateOf(group, 0, midpoint),
});

/** A smaller difference is no change: half a percentage point. */
const LEAST_CHANGE = 0.005;

export function directionOf({ now, before }: TrendChange): 'better' | 'worse' | 'the same' | null {
  if (now === null || before === null) return null;
  if (Math.abs(now - before) < LEAST_CHANGE) return 'the same';
  return now > before ? 'better' : 'worse';
}

export const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

const ANSWERS = { better: 'Yes', worse: 'No', 'the same': 'Neither better nor worse' } as const;
export const DIRECTION_LEVELS = { better: 'good', worse: 'bad', 'the same': 'neutral' } as const;

export function trendAnswer(group: TrendGroup): { readonly level: StatusLevel; readonly text: string } {
  const midpoint = midpointOf([group]);
  const change = changeOf(group, midpoint);
  const half = group.run_count.length - midpoint;
  const direction = directionOf(change);
  if (change.now === null) return { level: 'neutral', text: `No test ran in the last ${half} days.` };
  const now = `${formatFraction(change.now)} of the runs passed in the last ${half} days`;
  if (direction === null || change.before === null) return { level: 'neutral', text: `${now}; none ran before.` };
  return {
    level: DIRECTION_LEVELS[direction],
    text: `${ANSWERS[direction]}: ${now}, ${formatFraction(change.before)} in the days before.`,
  };
}
