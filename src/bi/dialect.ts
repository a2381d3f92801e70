/** What databases and tools spell differently in the SQL of a dataset. In a mirror file, times and days are text. */
export const SQLITE = {
  name: 'sqlite' as 'sqlite' | 'postgresql',
  /** The name of a table or view, with its schema, so that every role finds it. */
  relation: (name: string) => name,
  /** An instant as a dataset shows it. */
  time: (instant: string) => instant,
  /** A UTC day as a dataset shows it. */
  day: (day: string) => day,
  /** The UTC day of an instant that a dataset shows. */
  dayOf: (time: string) => `substr(${time}, 1, 10)`,
  /** The hours from an instant until now. */
  hoursSince: (instant: string) => `(julianday('now') - julianday(${instant})) * 24`,
  /** An address as a dataset shows it. */
  link: (url: string) => url,
  /** The page that `obsync serve` shows; null without `--page-url`. */
  pageUrl: null as string | null,
  /** The UTC day this many days ago. */
  daysAgo: (days: number) => `date('now', '-${days} days')`,
};

/** Tools that need another form of times, days, links or addresses replace these members. */
export type BiDialect = Readonly<typeof SQLITE>;

/** Times are `timestamptz`, days `date`. */
export const postgresqlIn = (schema: string): BiDialect => ({
  ...SQLITE,
  name: 'postgresql',
  // A schema may be a reserved word, such as `order`.
  relation: (name) => `"${schema}".${name}`,
  dayOf: (time) => `(${time} at time zone 'UTC')::date`,
  hoursSince: (instant) => `extract(epoch from now() - ${instant}) / 3600`,
  daysAgo: (days) => `((now() at time zone 'UTC')::date - ${days})`,
});
