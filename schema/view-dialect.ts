import type { SQL } from 'drizzle-orm';

/** The asset where a walk begins, by its columns, and the ends of an edge that it goes from and to. */
export interface LineageWalk {
  readonly envId: string;
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

/** What differs between databases in a view. The results are the same. */
export interface ViewDialect {
  /** Gives a computed column its type, which BI tools read from the catalog. */
  readonly text: (value: SQL) => SQL;
  readonly integer: (value: SQL) => SQL;
  readonly real: (value: SQL) => SQL;
  /** An instant. SQLite has no type for it. */
  readonly time: (value: SQL) => SQL;
  /** A number without its fraction. */
  readonly whole: (value: SQL) => SQL;
  /** The UTC day of a time. */
  readonly day: (time: string) => SQL;
  /** The days from one time to another, with their fraction. */
  readonly daysBetween: (from: SQL, to: SQL) => SQL;
  /** A number with three decimals. */
  readonly rounded: (value: SQL) => SQL;
  /** The part's share of the whole, from 0 to 1; NULL if the whole is NULL. Both are integers. */
  readonly share: (part: SQL, whole: SQL) => SQL;
  /** How many rows meet a condition that is never NULL. */
  readonly countIf: (condition: SQL) => SQL;
  /** The condition that the test `t` is not disabled. */
  readonly enabled: SQL;
  /** Joins the elements `e` of a JSON array; none if it is NULL or not an array. */
  readonly joinElements: (list: string) => SQL;
  /** The label of an element `e`: an object's name, email or id, whichever it has; else its text. NULL if empty. */
  readonly label: SQL;
  /** A JSON array as readable text: the labels of its elements, separated by commas. */
  readonly listed: (list: string) => SQL;
  /** A JSON list, or the other one if it is empty or NULL. */
  readonly listOr: (list: string, other: string) => string;
  /** Joins what an asset reaches as `w`, and the mirror's row of it as `o`; views omit rows whose `o` is deleted. */
  readonly joinReached: (walk: LineageWalk) => SQL;
  readonly reachedId: SQL;
  /** The smallest number of edges to it. */
  readonly reachedDepth: SQL;
  /** How many assets `o` that are not deleted an asset reaches; `condition` selects those that count. */
  readonly countReached: (walk: LineageWalk, condition?: SQL) => SQL;
  /** The incidents of the test `t`: joins their last failing run `l`, and the PASS `p` that ended them. */
  readonly joinIncidents: SQL;
  readonly incident: Readonly<Record<'envId' | 'firstStartTime' | 'runCount' | 'worstStatus', SQL>>;
  /** The score of each day's last bucket, and the mean of the day's buckets. */
  readonly healthDaily: SQL;
  /** Looks up a joined subquery's rows per row, by a condition, where a database would read all of them too often. */
  readonly perRow: { readonly lateral: SQL; readonly condition: (condition: SQL) => SQL };
  /** A name for a subquery, for databases that require one. */
  readonly named: (name: string) => SQL;
  /** More columns to group by, which the others determine. */
  readonly alsoBy: (columns: string) => SQL;
}
