/** What databases write differently in the charts. */
export interface ChartDialect {
  readonly name: 'sqlite' | 'postgresql';
  /** The hours from a time until now. */
  hoursSince(time: string): string;
  /** The UTC day of a time. */
  dayOf(time: string): string;
  /** The day so many days ago. */
  daysAgo(days: number): string;
  /** Whether a flag is not set; one that is NULL is not. */
  isUnset(flag: string): string;
}

/** The mirror itself: times and days are text, flags are 0 or 1. */
export const SQLITE: ChartDialect = {
  name: 'sqlite',
  hoursSince: (time) => `(julianday('now') - julianday(${time})) * 24`,
  dayOf: (time) => `substr(${time}, 1, 10)`,
  daysAgo: (days) => `date('now', '-${days} days')`,
  isUnset: (flag) => `coalesce(${flag}, 0) = 0`,
};

/** Times are `timestamptz`, days `date`, flags `boolean`. */
export const POSTGRESQL: ChartDialect = {
  name: 'postgresql',
  hoursSince: (time) => `extract(epoch from now() - ${time}) / 3600`,
  dayOf: (time) => `(${time} at time zone 'UTC')::date`,
  daysAgo: (days) => `(now() at time zone 'UTC')::date - ${days}`,
  isUnset: (flag) => `not coalesce(${flag}, false)`,
};
