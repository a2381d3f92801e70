/** The name of a stream, as its catalogue entry gives it. */
export type StreamName = string;

/**
 * The type of a value in the API. It is stored as it is, but `instant` as fixed-width text, `json` as JSON text,
 * `boolean` as 0 or 1.
 */
export type FieldType = 'text' | 'integer' | 'number' | 'boolean' | 'instant' | 'json';

export interface Field {
  readonly type: FieldType;
  /** A row in which it is missing or has the wrong type is rejected (R20). An optional field is then stored as NULL. */
  readonly required?: true;
  /** The value to store if it is missing or null; NULL if this is left out. */
  readonly empty?: string;
  /** Its path in the item, if that is not its own name: `['total', 'score']`. */
  readonly from?: readonly string[];
}

export type Fields = Readonly<Record<string, Field>>;

/** A value as SQLite stores it. */
export type ColumnValue = string | number | null;

/** A row of a table by column name, without `env_id`, `mirrored_at` and `read_number`, which the destination adds. */
export type Row = Readonly<Record<string, ColumnValue>>;

/** A rule that says which changes of rows make marks: the value of the field `id` is marked for `stream`. */
interface MarkRule {
  readonly stream: StreamName;
  readonly id: string;
  /**
   * The changes that make a mark: `shown` = inserted, changed or brought back; `moved` = deleted or brought back (R13,
   * R18, R22).
   */
  readonly on: 'shown' | 'moved';
  /** Only rows with this value in this field make a mark. */
  readonly where?: { readonly field: string; readonly is: string };
}

/** A table that is written together with the stream's own table, from the same items. */
export interface ChildTable {
  readonly table: string;
  readonly staged?: string;
  readonly key: readonly string[];
  readonly fields: Fields;
  /** The array in the item whose elements are the rows of this table. */
  readonly each: string;
}

/** A table whose rows are kept for ever. They are written with the page that showed them (R17). */
interface HistoryTable {
  readonly table: string;
  readonly key: readonly string[];
  /** Values that its rows have beside those of the item. */
  readonly constants?: Row;
  /** The field with the time of a score, for a table that `asset_health_means` is computed from. */
  readonly scoredAt?: string;
}

/** One catalogue entry: everything that the sync knows about a collection. It refers to tables by name. */
export type Stream = FeedStream | MarkedStream | SnapshotStream | WindowStream;

/** Scanned once, then read by its upserts and tombstones feeds (R2), with sweeps (R12). */
export interface FeedStream extends LookupStream {
  readonly method: 'feed';
  /** The parent whose rows are asked for when it went or came back (R13). It explains their removal, too (R14). */
  readonly parent?: LookupParent;
  readonly parents?: undefined;
}

/** Scanned once, then read for marked rows only (R18, R22). */
export interface MarkedStream extends LookupStream {
  readonly method: 'marked';
  readonly parent?: undefined;
  /** The list and the table of the rows that its marks name (R18, R22). */
  readonly parentTable: ParentTable;
  /** The stream that makes its marks. */
  readonly dependencies: readonly [StreamName];
}

/** Read whole each time, and put in place in one transaction (R16). */
export interface SnapshotStream extends LookupStream {
  readonly method: 'snapshot';
  readonly parent?: undefined;
  readonly staged: string;
}

/** One read of a period of time for each due test (R22). */
interface WindowStream extends CommonStream {
  readonly method: 'window';
  readonly parent?: undefined;
  readonly idsParameter?: undefined;
}

interface LookupStream extends CommonStream {
  /**
   * The parameter that asks for rows by the first part of their key (R12); for column lineage that is the downstream
   * column (R18).
   */
  readonly idsParameter: string;
}

interface CommonStream {
  readonly name: StreamName;
  /** The path under the environment; `{id}` stands for the test of a window read. */
  readonly path: readonly string[];
  /** The one or two fields that identify a row. */
  readonly key: readonly [string, ...string[]];
  readonly fields: Fields;
  readonly table: string;
  /** The table where a snapshot or lineage is staged: the same columns, and `read_number` (R16). */
  readonly staged?: string;
  /** The fields that this stream writes, if another stream writes to its table as well; all fields if left out. */
  readonly writes?: readonly string[];
  /** The stream only fills rows that its parent stream made, and only those with this value in this field. */
  readonly subtype?: { readonly field: string; readonly is: string };
  readonly parentTable?: ParentTable;
  /**
   * For each value of `kind`, the columns that only this kind has. A change of kind blanks the columns of the other
   * kinds (R22).
   */
  readonly subtypeColumns?: Readonly<Record<string, readonly string[]>>;
  /** A full scan makes one read with each of these queries, and so does a request by ids (R12). */
  readonly scanQueries: readonly Readonly<Record<string, string>>[];
  /** The streams that a run reads before this one. */
  readonly dependencies: readonly StreamName[];
  /** The rows of other streams that its rows belong to: their removal explains the removal of its rows (R14). */
  readonly parents?: readonly StreamParent[] | undefined;
  /**
   * For edges: the end that is always read with all its edges. If other edges of it are shown, a missing edge was
   * replaced (R14).
   */
  readonly replacedBy?: string;
  readonly marks: readonly MarkRule[];
  /** The rows of another table that are deleted together with a row that one of their fields names (R18). */
  readonly cascade?: { readonly table: string; readonly by: readonly string[] };
  /**
   * The rows of another table that may have ended with a deleted row: their `id` is marked for `stream`, to be read
   * again (R18).
   */
  readonly cascadeMarks?: {
    readonly table: string;
    readonly by: string;
    readonly stream: StreamName;
    readonly id: string;
  };
  /** Whether `asset_health_means` leaves out the scores of its deleted rows. */
  readonly scored?: true;
  /** The stream that has to read again when rows of this one change, and so is not finished in this cycle (R9, R22). */
  readonly reopens?: StreamName;
  readonly childTables?: readonly ChildTable[];
  readonly historyTables?: readonly HistoryTable[];
  /** Whether a 404 with the error envelope means that the stream is not live (R15). */
  readonly mayBeUnavailable?: true;
  /** Whether it is read at most once per clock hour of server time (R22). */
  readonly hourly?: true;
  /** Whether removals are never held back (R14). */
  readonly skipsShrinkGuard?: true;
  /** The service shows only rows whose time in this field is at most so many days ago. */
  readonly retention?: { readonly field: string; readonly days: number };
  /** Whether it is only read with `--history`. */
  readonly optional?: true;
}

interface ParentTable {
  readonly path: readonly string[];
  readonly table: string;
}

export interface StreamParent {
  /** The field that names the parent. */
  readonly by: string;
  readonly table: string;
  /** What the parent itself belongs to: that removal explains this one as well, on any level (R14). */
  readonly parents?: readonly StreamParent[];
}

interface LookupParent extends StreamParent {
  /** The path of the parent's own list. */
  readonly path: readonly string[];
  /** The parameter that asks for a parent's rows. */
  readonly parameter: string;
}

/** Whether the stream is first read by a scan, then by feeds or marks. */
export function isScanned({ method }: Pick<Stream, 'method'>): boolean {
  return method === 'feed' || method === 'marked';
}

/** The parents of a stream's rows. */
export function parentsOf({ parent, parents = [] }: Pick<Stream, 'parent' | 'parents'>): readonly StreamParent[] {
  return parent === undefined ? parents : [parent];
}

/**
 * The parameter that asks for rows of a stream by the first part of their key.
 * @throws Error for a stream that has none
 */
export function idsParameterOf({ name, idsParameter }: Pick<Stream, 'name' | 'idsParameter'>): string {
  if (idsParameter === undefined) throw new Error(`rows of ${name} cannot be requested by their ids`);
  return idsParameter;
}
