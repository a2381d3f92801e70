/** The scopes that a token of `serve` may have. */
export const VIEW_SCOPES = ['assets', 'tests'] as const;

/** The view scope that an endpoint needs. */
export type ViewScope = (typeof VIEW_SCOPES)[number];

/** How `serve` serves a collection: only what does not follow from the rest of its entry. */
export interface CollectionEndpoint {
  readonly scope: ViewScope;
  /** The English word for one item. Its plural ends in `s`. */
  readonly noun: string;
  /** The group of its operations in the OpenAPI description. Default: the plural of `noun`. */
  readonly tag?: string;
  /** The name of its items' schema in the OpenAPI description. Default: `noun`. */
  readonly item?: string;
  /** A sentence about the list for the OpenAPI description. */
  readonly describe?: string;
  readonly filters: EndpointFilters;
  /** The endpoint of a single item: the last parameter of its path, and the field that it is compared with. */
  readonly get?: { readonly parameter: string; readonly field: string };
  /** Fields with the ids of assets that a reader must be allowed to see, unless the row's parents lead to them. */
  readonly assets?: readonly string[];
  /** A row is returned only while these other rows are as stated. */
  readonly shownWhile?: readonly OtherRow[];
  /** A row is returned only while the time in this field is at most a week ago. */
  readonly weekOf?: string;
  /** Whose field `disabled` filters by: the row's, with an index of disabled rows by id, or its first parent's. */
  readonly disabled?: 'row' | 'parent';
  /** The fields that each `order_by` sorts by; the first is the default. Without it, rows are sorted by key. */
  readonly orders?: Readonly<Record<string, readonly string[]>>;
  /** The field that is compared with the id in the list's path, if the path has one. */
  readonly idInPath?: string;
  /** The field that `start_time_from` and `start_time_to` bound. The latest rows come first. */
  readonly window?: string;
  /** Whether a field without a value is returned as null; by default it is omitted. */
  readonly showsNulls?: true;
  /** Text fields whose empty text counts as no value. */
  readonly emptyIsNull?: readonly string[];
}

/** A row of another table that decides whether a row is returned. `by` is the field with its id. */
export interface OtherRow {
  readonly by: string;
  readonly table: string;
  /** A row that the mirror lacks is neither `live` nor `deleted`. */
  readonly is: 'live' | 'not deleted';
  readonly where?: { readonly field: string; readonly is: string };
}

/** An array parameter of a list. If `indexed`, an index finds the rows with its values. */
export type EndpointFilter = { readonly describe: string } & (
  | { readonly by: 'field' | 'parent'; readonly field: string; readonly indexed: boolean }
  | { readonly by: 'ends'; readonly fields: readonly [string, string] }
  | { readonly by: 'tags' | 'path' }
);

export type EndpointFilters = Readonly<Record<string, EndpointFilter>>;

const filterBy =
  (by: 'field' | 'parent', indexed: boolean) =>
  (field: string, describe: string): EndpointFilter => ({ by, field, indexed, describe });

/** Rows whose field has one of the values. */
export const oneOf = filterBy('field', false);

/** Rows whose field has one of the values, found by the key or another index. */
export const oneOfIndexed = filterBy('field', true);

/** Rows whose first parent has one of the values in its field. */
export const parentOneOf = filterBy('parent', false);

/** Rows whose first parent has one of the values in its field, found by an index of the parents and one of the rows. */
export const parentOneOfIndexed = filterBy('parent', true);
