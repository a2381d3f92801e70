/** The name of a stream in the catalogue. */
export type StreamName = string;

/**
 * The type of a value in the API. It is stored as it is, except: `instant` as fixed-width text, `json` as JSON text,
 * `boolean` as 0 or 1. Text is made well-formed; an `id` is text that names a row, so it is stored as sent or not at
 * all (R19, R20).
 */
export type FieldType = 'id' | 'text' | 'integer' | 'number' | 'boolean' | 'instant' | 'json';

export interface Field {
  readonly type: FieldType;
  /** A row without it, or with a wrong type, is rejected (R20). An optional field of a wrong type is stored as NULL. */
  readonly required?: true;
  /** The value to store if it is missing or null; NULL by default. */
  readonly empty?: string;
  /** Its path in the item if that is not its name: `['total', 'score']`. */
  readonly from?: readonly string[];
}

export type Fields = Readonly<Record<string, Field>>;

/** A value as SQLite stores it. */
export type ColumnValue = string | number | null;

/** A row by column name, without `env_id`, `mirrored_at` and `read_number`, which the destination adds. */
export type Row = Readonly<Record<string, ColumnValue>>;

/** Which changes of rows make marks: the value of the field `id` is marked for `stream`. */
interface MarkRule {
  readonly stream: StreamName;
  readonly id: string;
  /** The changes that mark: `shown` = inserted, updated or restored; `moved` = deleted or restored (R13, R18, R22). */
  readonly on: 'shown' | 'moved';
  /** Only rows with this value in this field make a mark. */
  readonly where?: { readonly field: string; readonly is: string };
}

/** Rows that are deleted with the row that one of these fields refers to. */
interface DependentRows {
  readonly table: string;
  readonly by: readonly string[];
  /** Only with a row that is deleted in this way; by default, with any deleted row. */
  readonly deletion?: 'absent';
}

/** A table written together with the stream's own table, from the same items. */
export interface ChildTable {
  readonly table: string;
  readonly staged?: string;
  readonly key: readonly string[];
  readonly fields: Fields;
  /** The array in the item whose elements are the rows of this table. */
  readonly each: string;
}

/** A table whose rows a sync never deletes. They are written with the page that returned them (R17). */
interface HistoryTable {
  readonly table: string;
  readonly key: readonly string[];
  /** Values that its rows have in addition to those of the item. */
  readonly constants?: Row;
  /** The field with a score's time, for a table that `asset_health_means` is computed from. */
  readonly scoredAt?: string;
}

/** One catalogue entry: everything the sync knows about a collection. It names its tables. */
export type Stream = FeedStream | MarkedStream | SnapshotStream | WindowStream;

/** Scanned once, then read through its upserts and tombstones feeds (R2), with sweeps (R12). */
export interface FeedStream extends LookupStream {
  readonly method: 'feed';
  /** The parent whose rows are looked up when it is deleted or comes back (R13). Its deletion explains theirs (R14). */
  readonly parent?: LookupParent;
  readonly parents?: undefined;
}

/** Scanned once, then read for marked rows only (R18, R22). */
export interface MarkedStream extends LookupStream {
  readonly method: 'marked';
  readonly parent?: undefined;
  /** The list and table of the rows that its marks refer to (R18, R22). */
  readonly parentTable: ParentTable;
  /** The stream that makes its marks. */
  readonly dependencies: readonly [StreamName];
}

/** Read whole each time and applied in one transaction (R16). */
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
  /** The parameter that looks rows up by their key's first part (R12); in column lineage, that is downstream (R18). */
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
  /** The table where a snapshot or lineage is staged: the same columns plus `read_number` (R16). */
  readonly staged?: string;
  /** The fields that this stream writes if another stream writes to its table too; all fields by default. */
  readonly writes?: readonly string[];
  /** The stream only fills in rows of its parent stream, and only those with this value in this field. */
  readonly subtype?: { readonly field: string; readonly is: string };
  readonly parentTable?: ParentTable;
  /** The columns that only one kind has, by value of `kind`. They are blank in rows of the other kinds (R22). */
  readonly subtypeColumns?: Readonly<Record<string, readonly string[]>>;
  /** A full scan makes one read per query, and so does an `ids` lookup (R12). */
  readonly scanQueries: readonly Readonly<Record<string, string>>[];
  /** The streams that a run reads before this one. */
  readonly dependencies: readonly StreamName[];
  /** The rows of other streams that its rows belong to; their deletion explains the deletion of its rows (R14). */
  readonly parents?: readonly StreamParent[] | undefined;
  /**
   * For edges: the end that is always read with all its edges. If other edges of that end are returned, a missing edge
   * was replaced (R14).
   */
  readonly replacedBy?: string;
  readonly marks: readonly MarkRule[];
  /** The dependent rows of other tables that are deleted with a row (R13, R18). */
  readonly cascade?: readonly DependentRows[];
  /** Rows of another table whose `id` is marked for `stream`, because they may end with a deleted row (R18). */
  readonly cascadeMarks?: {
    readonly table: string;
    readonly by: string;
    readonly stream: StreamName;
    readonly id: string;
  };
  /** Whether `asset_health_means` leaves out the scores of its deleted rows. */
  readonly scored?: true;
  /** The stream that must read again when rows of this one change, and so is not finished in this cycle (R9, R22). */
  readonly reopens?: StreamName;
  readonly childTables?: readonly ChildTable[];
  readonly historyTables?: readonly HistoryTable[];
  /** Whether a 404 with the error envelope means that the stream is not live (R15). */
  readonly mayBeUnavailable?: true;
  /** Whether it is read at most once per clock hour of server time (R22). */
  readonly hourly?: true;
  /** Whether removals are never held back (R14). */
  readonly skipsShrinkGuard?: true;
  /** The service returns only rows whose time in this field is at most this many days ago. */
  readonly retention?: { readonly field: string; readonly days: number };
  /** Whether it is read only with `--history`. */
  readonly optional?: true;
}

interface ParentTable {
  readonly path: readonly string[];
  readonly table: string;
}

export interface StreamParent {
  /** The field that refers to the parent. */
  readonly by: string;
  readonly table: string;
  /** The parent's own parents; their deletion explains this one too, at any depth (R14). */
  readonly parents?: readonly StreamParent[];
}

interface LookupParent extends StreamParent {
  /** The path of the parent's own list. */
  readonly path: readonly string[];
  /** The parameter that looks up the rows of a parent. */
  readonly parameter: string;
}

/** Whether the stream is first scanned, then read by feeds or marks. */
export function isScanned({ method }: Pick<Stream, 'method'>): boolean {
  return method === 'feed' || method === 'marked';
}

export function parentsOf({ parent, parents = [] }: Pick<Stream, 'parent' | 'parents'>): readonly StreamParent[] {
  return parent === undefined ? parents : [parent];
}

/** The parameter that looks rows up by the first part of their key. @throws Error for a stream without it */
export function idsParameterOf({ name, idsParameter }: Pick<Stream, 'name' | 'idsParameter'>): string {
  if (idsParameter === undefined) throw new Error(`rows of ${name} cannot be requested by their ids`);
  return idsParameter;
}
