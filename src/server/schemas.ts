import type { Field, Fields } from '../core/stream.ts';
import type { Filters } from './filters.ts';
import type { Listing } from './listings.ts';

/** A JSON Schema, as the routes carry it: it validates, it serialises, and it is the description. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const DEFAULT_LIMIT = 500;
const MOST_VALUES = 1000;

const INSTANT: Schema = { type: 'string', format: 'date-time' };
const ANYTHING: Schema = {};
const TEXTS: Schema = { type: 'array', items: ANYTHING, description: 'Texts as a rule; passed on as they come' };

const TYPES: Readonly<Record<Field['type'], Schema>> = {
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  instant: INSTANT,
  json: ANYTHING,
};

/** What the JSON of a field holds by all that is known. */
const JSON_SHAPES: Readonly<Record<string, Schema>> = {
  owners: TEXTS,
  tags: TEXTS,
  config: { type: 'object', additionalProperties: true },
};

export const ERROR: Schema = {
  $id: 'ErrorEnvelope',
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: { code: { type: 'string' }, message: { type: 'string' } },
      required: ['code', 'message'],
    },
  },
  required: ['error'],
};

/** An item of a collection under the name it has in the description. */
export function itemSchema({ item, entry, nulls, timed }: Listing): Schema {
  const schema = objectOf(entry.fields, nulls);
  const parts = Object.fromEntries(
    (entry.parts ?? []).map(({ each, fields }) => [each, { type: 'array', items: objectOf(fields, nulls) }]),
  );
  const deletion: Record<string, Schema> = timed === 'r' ? { deleted_at: { ...INSTANT, description: TOMBSTONE } } : {};
  return {
    $id: item,
    ...schema,
    properties: { ...schema.properties, ...parts, ...deletion },
    required: [...(schema.required ?? []), ...Object.keys(parts)],
  };
}

const TOMBSTONE = 'Only in the `deleted_since` feed';

/** An object of such fields, each at its place (`from`), with room for fields that no version knows yet. */
export function objectOf(fields: Fields, nulls: Listing['nulls']): Schema {
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  const nested = Object.groupBy(Object.entries(fields), ([, field]) => field.from?.[0] ?? '');
  for (const [name, field] of nested[''] ?? []) {
    properties[name] = schemaOf(name, field, nulls);
    if (field.required) required.push(name);
  }
  for (const [name, inner] of Object.entries(nested)) {
    if (name === '') continue;
    properties[name] = objectOf(Object.fromEntries((inner ?? []).map(inside)), nulls);
    required.push(name);
  }
  return { type: 'object', properties, required, additionalProperties: true };
}

const inside = ([name, { from = [], ...field }]: [string, Field]): [string, Field] => [from.at(-1) ?? name, field];

function schemaOf(name: string, field: Field, nulls: Listing['nulls']): Schema {
  const schema = (field.type === 'json' ? JSON_SHAPES[name] : undefined) ?? TYPES[field.type];
  if (field.required || nulls === 'left out' || schema['type'] === undefined) return schema;
  return { ...schema, type: [schema['type'], 'null'] };
}

export const pageName = (item: string): string => `${item}Page`;

/** The envelope of a list. */
export function pageSchema(item: string): Schema {
  return {
    $id: pageName(item),
    type: 'object',
    properties: {
      items: { type: 'array', items: { $ref: `${item}#` } },
      has_more: { type: 'boolean', description: 'The only sign that there is more: a page may be short, even empty' },
      next_cursor: { type: ['string', 'null'], description: 'Good for the exact query it came from' },
    },
    required: ['items', 'has_more', 'next_cursor'],
  };
}

/** The query of a list. */
export function querySchema(listing: Listing, pageMax: number): Schema {
  return queryOf({
    ...filterProperties(listing.filters),
    ...(listing.disabled === undefined ? {} : { disabled: DISABLED }),
    ...(listing.timed === undefined ? {} : FEEDS),
    ...(listing.window === undefined ? {} : WINDOW),
    ...sorting(listing),
    limit: { type: 'integer', minimum: 1, maximum: pageMax, default: Math.min(DEFAULT_LIMIT, pageMax) },
    cursor: { type: 'string', description: '`next_cursor` of the page before; empty for the first' },
  });
}

/** Array filters, and nothing else. */
export function filterSchema(filters: Filters): Schema {
  return queryOf(filterProperties(filters));
}

const queryOf = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties });

const filterProperties = (filters: Filters): Record<string, Schema> =>
  Object.fromEntries(
    Object.entries(filters).map(([name, { describe }]) => [
      name,
      { type: 'array', items: { type: 'string' }, maxItems: MOST_VALUES, description: `${describe} (repeatable)` },
    ]),
  );

const DISABLED: Schema = {
  type: 'boolean',
  default: false,
  description: '`true`: only what is disabled; else only what is enabled',
};

const FEEDS: Readonly<Record<string, Schema>> = {
  synced_since: {
    ...INSTANT,
    description: 'Upserts feed: what changed at or after this time (at most 90 days back), in the order of `synced_at`',
  },
  deleted_since: {
    ...INSTANT,
    description:
      'Tombstones feed: what went at or after this time (at most 90 days back), in the order of `deleted_at`',
  },
};

const WINDOW: Readonly<Record<string, Schema>> = {
  start_time_from: { ...INSTANT, description: 'Started at or after; 30 days back when left out, at most 90 days' },
  start_time_to: { ...INSTANT, description: 'Started at or before' },
};

function sorting({ orders, direction, timed }: Listing): Record<string, Schema> {
  const [first] = Object.keys(orders);
  const note = timed === undefined ? {} : { description: 'Feeds ignore it: they go by the time of the change' };
  return {
    order_by: { type: 'string', enum: Object.keys(orders), default: first, ...note },
    direction: { type: 'string', enum: ['asc', 'desc'], default: direction },
  };
}

const NOT_ITS_NAME: Readonly<Record<string, string>> = { env_id: 'Id of an environment, not its name' };

/** Ids in a path. */
export function pathSchema(...names: readonly string[]): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string', description: NOT_ITS_NAME[name] }])),
    required: names,
  };
}

/**
 * The schema by which an answer is written: what a service sends in an optional field is passed on as it is, whatever its
 * type (R20), though the description names the type that is to be expected.
 */
export function lenient(schema: Schema): Schema {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const relaxed = Object.entries(properties).map(([name, property]) => [
    name,
    property.properties !== undefined || required.includes(name) ? lenient(property) : ANYTHING,
  ]);
  return { ...schema, properties: Object.fromEntries(relaxed) };
}
