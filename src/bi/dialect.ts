/** What databases and tools spell differently in the SQL of a dataset. */
export interface BiDialect {
  readonly name: 'sqlite' | 'postgresql';
  /** The name of a table or view, with its schema, so that every role finds it. */
  readonly relation: (name: string) => string;
  /** An instant as a dataset shows it. */
  readonly time: (instant: string) => string;
  /** A UTC day as a dataset shows it. */
  readonly day: (day: string) => string;
  /** The UTC day of an instant that a dataset shows. */
  readonly dayOf: (time: string) => string;
  /** The hours from an instant until now. */
  readonly hoursSince: (instant: string) => string;
  /** An address as a dataset shows it. */
  readonly link: (url: string) => string;
  /** The page that `obsync serve` shows; null without `--page-url`. */
  readonly pageUrl: string | null;
  /** The UTC day this many days ago. */
  readonly daysAgo: (days: number) => string;
}

/** Tools that need something else replace it. */
const AS_STORED = {
  time: (instant: string) => instant,
  day: (day: string) => day,
  link: (url: string) => url,
  pageUrl: null,
};

/** The mirror file: times and days are text. */
export const SQLITE: BiDialect = {
  name: 'sqlite',
  ...AS_STORED,
  relation: (name) => name,
  dayOf: (time) => `substr(${time}, 1, 10)`,
  hoursSince: (instant) => `(julianday('now') - julianday(${instant})) * 24`,
  daysAgo: (days) => `date('now', '-${days} days')`,
};

/** Times are `timestamptz`, days `date`. */
export const postgresqlIn = (schema: string): BiDialect => ({
  name: 'postgresql',
  ...AS_STORED,
  // A schema may be a reserved word, such as `order`.
  relation: (name) => `"${schema}".${name}`,
  dayOf: (time) => `(${time} at time zone 'UTC')::date`,
  hoursSince: (instant) => `extract(epoch from now() - ${instant}) / 3600`,
  daysAgo: (days) => `((now() at time zone 'UTC')::date - ${days})`,
});
