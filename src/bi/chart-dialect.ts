/** What databases spell differently in the charts' SQL. */
export interface ChartDialect {
  readonly name: 'sqlite' | 'postgresql';
  /** The hours from an instant until now. */
  hoursSince(time: string): string;
  /** The UTC day of an instant. */
  dayOf(time: string): string;
  /** The day this many days ago. */
  daysAgo(days: number): string;
  /** Whether a flag is false or NULL. */
  isUnset(flag: string): string;
}

/** The mirror file: times and days are text, flags are 0 or 1. */
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
