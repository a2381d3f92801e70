/** The name of a stream, as its catalogue entry gives it. */
export type StreamName = string;

/** How a value travels and how it is kept: `instant` as fixed-width text, `json` as JSON text, `boolean` as 0 or 1. */
export type FieldType = 'text' | 'integer' | 'number' | 'boolean' | 'instant' | 'json';

export interface Field {
  readonly type: FieldType;
  /** A row without it, or with another type, is rejected (R20); else it is stored as NULL. */
  readonly required?: true;
  /** What is stored when it is missing or null; NULL where nothing stands here. */
  readonly empty?: string;
  /** Where it stands in the item, when not under its own name: `['total', 'score']`. */
  readonly from?: readonly string[];
}

export type Fields = Readonly<Record<string, Field>>;

/** A value as SQLite keeps it. */
export type ColumnValue = string | number | null;

/** One row of a table by column name; without `env_id`, `mirrored_at` and `read_number`, which the destination adds. */
export type Row = Readonly<Record<string, ColumnValue>>;

/** A row whose change or going leaves a mark: `id` is the field whose value is marked for `stream`. */
interface MarkRule {
  readonly stream: StreamName;
  readonly id: string;
  /** Which changes mark: `shown` = inserted, changed or brought back; `moved` = gone or brought back (R13, R18, R22). */
  readonly on: 'shown' | 'moved';
  /** Only rows whose field has this value. */
  readonly where?: { readonly field: string; readonly is: string };
}

/** A table written along with the stream's own, from the same item. */
export interface ChildTable {
  readonly table: string;
  readonly staged?: string;
  readonly key: readonly string[];
  readonly fields: Fields;
  /** The array in the item whose elements are the part's rows. */
  readonly each: string;
}

/** Rows kept for ever, written with the page that showed them (R17). */
interface HistoryTable {
  readonly table: string;
  /** Values the archive's rows have beyond the row's own. */
  readonly constants?: Row;
}

/** One catalogue entry: all that the sync knows of a collection. Tables stand in it by their names. */
export type Stream = FeedStream | MarkedStream | SnapshotStream | WindowStream;

/** Scanned once, then read by its upserts and tombstones feeds (R2), with sweeps (R12). */
export interface FeedStream extends CommonStream {
  readonly method: 'feed';
  /** The parent whose rows are asked for when it went or came back (R13). It explains their removal, too (R14). */
  readonly parent?: LookupParent;
  readonly parents?: undefined;
}

/** Scanned once, then read for marked rows only (R18, R22). */
export interface MarkedStream extends CommonStream {
  readonly method: 'marked';
  readonly parent?: undefined;
  /** The list whose rows its marks name, and their table (R18, R22). */
  readonly parentTable: ParentTable;
  /** The stream that makes its marks. */
  readonly dependencies: readonly [StreamName];
}

/** Read whole each time and put in place at once (R16). */
export interface SnapshotStream extends CommonStream {
  readonly method: 'snapshot';
  readonly parent?: undefined;
  readonly staged: string;
}

/** One read of a period of time for each due test (R22). */
interface WindowStream extends CommonStream {
  readonly method: 'window';
  readonly parent?: undefined;
}

interface CommonStream {
  readonly name: StreamName;
  /** Path under the environment; `{id}` stands for the test of a window read. */
  readonly path: readonly string[];
  /** The field, or the two fields, that tell rows apart. */
  readonly key: readonly [string, ...string[]];
  readonly fields: Fields;
  readonly table: string;
  /** Same columns and `read_number`: where a snapshot or lineage is staged (R16). */
  readonly staged?: string;
  /** Fields this stream writes when it shares its table with another stream; all of them when left out. */
  readonly writes?: readonly string[];
  /** Fills rows that another stream made: only those with this value; others are passed over. */
  readonly subtype?: { readonly field: string; readonly is: string };
  readonly parentTable?: ParentTable;
  /** By the value of `kind`, the columns that belong to it alone: a change of kind blanks the others' (R22). */
  readonly subtypeColumns?: Readonly<Record<string, readonly string[]>>;
  /** One read each makes a full scan; also the variants of an `ids` request (R12). */
  readonly scanQueries: readonly Readonly<Record<string, string>>[];
  /** Streams that go first in a run. */
  readonly dependencies: readonly StreamName[];
  /** The parameter that asks for rows by the first part of their key (R12): for marked lineage, by downstream column (R18). */
  readonly idsParameter: string;
  /** Its rows belong to rows of other streams, whose removal explains theirs (R14). */
  readonly parents?: readonly StreamParent[] | undefined;
  /** Of edges: the end that is read with all its edges. Where it is shown with others, a missing one was replaced (R14). */
  readonly replacedBy?: string;
  readonly marks: readonly MarkRule[];
  /** Rows of another table that go along with a deleted row (R18). */
  readonly cascade?: { readonly table: string; readonly by: string };
  /** Rows of another table that a deleted row may have ended: `id` of each is marked for the stream, to be read again (R18). */
  readonly cascadeMarks?: {
    readonly table: string;
    readonly by: string;
    readonly stream: StreamName;
    readonly id: string;
  };
  /** A stream that reads what changed rows of this one make due: it has not finished with them (R9, R22). */
  readonly reopens?: StreamName;
  readonly childTables?: readonly ChildTable[];
  readonly historyTables?: readonly HistoryTable[];
  /** A 404 with the error envelope means not live (R15). */
  readonly mayBeUnavailable?: true;
  /** Read at most once per clock hour of server time (R22). */
  readonly hourly?: true;
  /** Removals are never held back (R14). */
  readonly skipsShrinkGuard?: true;
  /** The service shows only rows whose field lies no more than so many days back. */
  readonly retention?: { readonly field: string; readonly days: number };
  /** Only when asked for with `--history`. */
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
  /** What the parent itself belongs to: its removal explains theirs, however far down (R14). */
  readonly parents?: readonly StreamParent[];
}

interface LookupParent extends StreamParent {
  /** The parameter that asks for a parent's rows. */
  readonly parameter: string;
}

/** What a stream's rows belong to. */
export function parentsOf({ parent, parents = [] }: Pick<Stream, 'parent' | 'parents'>): readonly StreamParent[] {
  return parent === undefined ? parents : [parent];
}
