/** The scopes of tokens of `serve`. */
export const VIEW_SCOPES = ['assets', 'tests'] as const;

/** The view scope that an endpoint needs. */
export type ViewScope = (typeof VIEW_SCOPES)[number];

/** How `serve` answers for a collection: what does not follow from the rest of its entry. */
export interface CollectionEndpoint {
  readonly scope: ViewScope;
  /** One of its items, in words; an `s` makes it many. */
  readonly noun: string;
  /** The group of its operations in the description; the nouns when left out. */
  readonly tag?: string;
  /** What the description calls the schema of its items; the noun when left out. */
  readonly item?: string;
  /** What there is to say of the list beyond its name. */
  readonly describe?: string;
  readonly filters: EndpointFilters;
  /** A single item: the last parameter of its path, and the field that it names. */
  readonly get?: { readonly parameter: string; readonly field: string };
  /** The fields with the ids of the assets a reader has to see to see the row, where its parents do not lead to them. */
  readonly assets?: readonly string[];
  /** Only rows whose other rows are as they should be show. */
  readonly shownWhile?: readonly OtherRow[];
  /** Only rows that are at most a week old by this field show. */
  readonly weekOf?: string;
  /** What `disabled` goes by: the row itself, where an index by id has to hold the disabled rows alone, or its first parent. */
  readonly disabled?: 'row' | 'parent';
  /** The values of `order_by` and the fields they sort by, the default first; the key when left out. */
  readonly orders?: Readonly<Record<string, readonly string[]>>;
  /** The field that holds the id in the path, where there is one. */
  readonly idInPath?: string;
  /** The time that `start_time_from` and `start_time_to` bound; the latest comes first. */
  readonly window?: string;
  /** Fields without a value are shown as null; they are left out otherwise. */
  readonly showsNulls?: true;
  /** Texts that are none when they are empty. */
  readonly emptyIsNull?: readonly string[];
}

/** A row of another table that decides whether a row shows: `by` is the field with its id. */
interface OtherRow {
  readonly by: string;
  readonly table: string;
  /** A row that the mirror does not have is not `live`, and not `deleted` either. */
  readonly is: 'live' | 'not deleted';
  readonly where?: { readonly field: string; readonly is: string };
}

/** An array parameter of a list. Where `indexed`, an index leads from its values to the rows. */
export type EndpointFilter = { readonly describe: string } & (
  | { readonly by: 'field' | 'parent'; readonly field: string; readonly indexed: boolean }
  | { readonly by: 'ends'; readonly fields: readonly [string, string] }
  | { readonly by: 'tags' | 'path' }
);

export type EndpointFilters = Readonly<Record<string, EndpointFilter>>;

/** Rows whose field has one of the values. */
export const oneOf = (field: string, describe: string): EndpointFilter => ({
  by: 'field',
  field,
  indexed: false,
  describe,
});

/** The same, by the key or another index. */
export const oneOfIndexed = (field: string, describe: string): EndpointFilter => ({
  by: 'field',
  field,
  indexed: true,
  describe,
});

/** Rows whose first parent has one of the values in its field. */
export const parentOneOf = (field: string, describe: string): EndpointFilter => ({
  by: 'parent',
  field,
  indexed: false,
  describe,
});

/** The same, by an index of the parents and one of the rows. */
export const parentOneOfIndexed = (field: string, describe: string): EndpointFilter => ({
  by: 'parent',
  field,
  indexed: true,
  describe,
});
