import type { SQL } from 'drizzle-orm';

/** The asset at which a walk begins, by its columns, and the ends of an edge between which it goes. */
export interface LineageWalk {
  readonly envId: string;
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

/** What each database writes in its own way in a view. The results are the same. */
export interface ViewDialect {
  /** Gives a computed column its type, which BI tools look for in the catalogue. */
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
  /** What part of the whole it is, from 0 to 1; NULL if the whole is NULL. Both are integers. */
  readonly share: (part: SQL, whole: SQL) => SQL;
  /** How many rows meet a condition that is never NULL. */
  readonly countIf: (condition: SQL) => SQL;
  /** The condition that the test `t` is not disabled. */
  readonly enabled: SQL;
  /** Joins the elements `e` of a JSON array; none when it is NULL or not an array. */
  readonly joinElements: (list: string) => SQL;
  /**
   * The label of an element `e`: the name of an object, else its email, else its id, else its text; NULL when that is
   * empty.
   */
  readonly label: SQL;
  /** A JSON array as text for people: the labels of its elements, separated by commas. */
  readonly listed: (list: string) => SQL;
  /** A JSON list, or another one if it is empty or NULL. */
  readonly listOr: (list: string, other: string) => string;
  /**
   * Joins what an asset reaches as `w`, and what the mirror holds of it as `o`. A view leaves out the rows whose `o` is
   * deleted.
   */
  readonly joinReached: (walk: LineageWalk) => SQL;
  readonly reachedId: SQL;
  /** The least number of edges to it. */
  readonly reachedDepth: SQL;
  /** How many assets `o` an asset reaches that are not deleted; `condition` says which ones count. */
  readonly countReached: (walk: LineageWalk, condition?: SQL) => SQL;
  /** The incidents of the test `t`: joins their last failing run `l`, and the PASS `p` that ended them. */
  readonly joinIncidents: SQL;
  readonly incident: Readonly<Record<'firstStartTime' | 'runCount' | 'worstStatus', SQL>>;
  /** The score of the last bucket of each day, and the mean of the day's buckets. */
  readonly healthDaily: SQL;
  /**
   * What makes a joined subquery look up its rows for each row, by a condition, where a database would else read all of
   * them too often.
   */
  readonly perRow: { readonly lateral: SQL; readonly condition: (condition: SQL) => SQL };
  /** A name for a subquery, for databases that demand one. */
  readonly named: (name: string) => SQL;
  /** Further columns to group by, which the others determine. */
  readonly alsoBy: (columns: string) => SQL;
}
