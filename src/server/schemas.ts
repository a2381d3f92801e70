import { AS_SENT } from '../core/read-api.ts';
import type { Field, Fields } from '../core/stream.ts';
import type { ArrayFilters } from './filters.ts';
import type { CollectionListing } from './listings.ts';

/** A JSON Schema of a route, for validation, serialization and documentation. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const MAX_VALUES = 1000;

const INSTANT: JsonSchema = { type: 'string', format: 'date-time' };
/** Without their formats, clients in Go and Java read numbers into 32 bits. */
export const INTEGER = { type: 'integer', format: 'int64' } as const;
export const NUMBER = { type: 'number', format: 'double' } as const;
const ANYTHING: JsonSchema = {};
const TEXTS: JsonSchema = {
  type: 'array',
  items: ANYTHING,
  description: 'Usually strings, as the service sends them',
};

const TYPES: Readonly<Record<Field['type'], JsonSchema>> = {
  id: { type: 'string' },
  text: { type: 'string' },
  integer: INTEGER,
  number: NUMBER,
  boolean: { type: 'boolean' },
  instant: INSTANT,
  json: ANYTHING,
};

const OBJECT: JsonSchema = { type: 'object', additionalProperties: true };

const JSON_SHAPES: Readonly<Record<string, JsonSchema>> = { owners: TEXTS, tags: TEXTS, config: OBJECT };

/** The type that a JSON field has according to its description; undefined if that names none. */
export const jsonTypeOf = (name: string): unknown => JSON_SHAPES[name]?.['type'];

export const ERROR_SCHEMA: JsonSchema = {
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

const refTo = (name: string): JsonSchema => ({ $ref: `${name}#` });

function itemSchema({ names: { item }, entry, feedClock }: CollectionListing): JsonSchema {
  const { properties, required = [] } = describedObject(entry.fields);
  const inner = nestedObjects(entry).map(({ member, name, isList }) => [
    member,
    isList ? { type: 'array', items: refTo(name) } : refTo(name),
  ]);
  const members: Record<string, JsonSchema> = Object.fromEntries(inner);
  return {
    $id: item,
    type: 'object',
    properties: { ...properties, ...members, ...(feedClock === 'r' ? { deleted_at: TOMBSTONE } : {}) },
    required: [...required, ...Object.keys(members)],
    additionalProperties: true,
  };
}

/** The schemas of a collection's items, of its pages, and of the objects nested in its items. */
export function collectionSchemas(listing: CollectionListing): JsonSchema[] {
  const nested = nestedObjects(listing.entry).map(({ name, fields }) => ({ $id: name, ...objectOf(fields) }));
  return [itemSchema(listing), pageSchema(listing.names.item), ...nested];
}

/** The schema names of nested objects, by the member that holds them. */
const INNER_NAMES: Readonly<Record<string, string>> = { total: 'BucketScore', dimensions: 'DimensionScore' };

/** The objects nested in an item (`from`) and the lists of its child rows, by the member that holds them. */
function nestedObjects({ fields, childTables = [] }: CollectionListing['entry']) {
  const inner = Object.entries(fields).filter(([, { from }]) => from !== undefined);
  const byMember = Object.entries(Object.groupBy(inner, ([, { from }]) => from?.[0] ?? ''));
  const objects = byMember.map(([member, held = []]) => ({ member, fields: Object.fromEntries(held.map(unnested)) }));
  return [
    ...objects.map((object) => ({ ...object, isList: false })),
    ...childTables.map((part) => ({ member: part.each, fields: part.fields, isList: true })),
  ].map((nested) => ({ ...nested, name: INNER_NAMES[nested.member] ?? nested.member }));
}

const unnested = ([name, { from = [], ...field }]: [string, Field]): [string, Field] => [from.at(-1) ?? name, field];

/** The schema of an object with these fields; it allows unknown fields. */
function objectOf(fields: Fields): JsonSchema {
  const topLevel = Object.entries(fields).filter(([, { from }]) => from === undefined);
  return {
    type: 'object',
    properties: Object.fromEntries(topLevel.map(([name, field]) => [name, schemaOf(name, field)])),
    required: topLevel.filter(([, field]) => field.required).map(([name]) => name),
    additionalProperties: true,
  };
}

/** The same, with the member for values of the wrong type if there may be any. */
export function describedObject(fields: Fields): JsonSchema {
  const schema = objectOf(fields);
  const isStrict = Object.values(fields).every(({ required }) => required);
  return isStrict ? schema : { ...schema, properties: { ...schema.properties, [AS_SENT]: MISFITS } };
}

const MISFITS: JsonSchema = {
  ...OBJECT,
  description: 'Values whose type is not the described one, as the service sent them; their fields are empty',
};

/** An optional value may be missing or null: services differ. Lists may be empty, objects missing, neither null. */
function schemaOf(name: string, field: Field): JsonSchema {
  if (field.type === 'json') return JSON_SHAPES[name] ?? ANYTHING;
  return field.required ? TYPES[field.type] : nullable(TYPES[field.type]);
}

const nullable = (schema: JsonSchema): JsonSchema =>
  schema['type'] === undefined ? schema : { ...schema, type: [schema['type'], 'null'] };

const TOMBSTONE: JsonSchema = { ...nullable(INSTANT), description: 'Only in the `deleted_since` feed' };

export const pageName = (item: string): string => `${item}Page`;

function pageSchema(item: string): JsonSchema {
  return {
    $id: pageName(item),
    type: 'object',
    properties: {
      items: { type: 'array', items: refTo(item) },
      has_more: {
        type: 'boolean',
        description:
          'Whether there is another page, since any page may be short or empty. Treat a missing value as false',
      },
      next_cursor: { type: ['string', 'null'], description: 'Valid for the same path, filters and order' },
    },
    required: ['items'],
  };
}

export function querySchema(listing: CollectionListing): JsonSchema {
  const { type, properties } = filterSchema(listing.filters);
  return {
    type,
    properties: {
      ...properties,
      ...(listing.disabled === undefined ? {} : DISABLED),
      ...(listing.feedClock === undefined ? {} : FEEDS),
      ...(listing.window === undefined ? {} : WINDOW),
      ...sorting(listing),
      ...PAGING,
    },
  };
}

export function filterSchema(filters: ArrayFilters): JsonSchema {
  const properties = Object.entries(filters).map(([name, { describe }]) => {
    const description = `${describe} (repeatable; the whole address may have 256 KB)`;
    return [name, { type: 'array', items: { type: 'string' }, maxItems: MAX_VALUES, description }];
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}

const PAGING: Readonly<Record<string, JsonSchema>> = {
  limit: { ...INTEGER, minimum: 1, maximum: 2000, default: 500, description: 'The most rows of a page' },
  cursor: { type: 'string', description: '`next_cursor` of the previous page; empty for the first page' },
};

const DISABLED: Readonly<Record<string, JsonSchema>> = {
  disabled: {
    type: 'boolean',
    default: false,
    description: '`true`: only disabled objects; otherwise only enabled ones',
  },
};

const FEEDS: Readonly<Record<string, JsonSchema>> = {
  synced_since: {
    ...INSTANT,
    description:
      'Upserts feed: objects that changed at or after this time (at most 90 days ago), in the order of `synced_at`',
  },
  deleted_since: {
    ...INSTANT,
    description:
      'Tombstones feed: objects that were deleted at or after this time (at most 90 days ago), in the order of `deleted_at`',
  },
};

const WINDOW: Readonly<Record<string, JsonSchema>> = {
  start_time_from: {
    ...INSTANT,
    description: 'Started at or after this time: 30 days ago by default, at most 90 days ago',
  },
  start_time_to: { ...INSTANT, description: 'Started at or before this time' },
};

function sorting({ orders, direction, feedClock }: CollectionListing): Record<string, JsonSchema> {
  const [first] = Object.keys(orders);
  const note = feedClock === undefined ? '' : '; ignored by feeds, which are in the order of the change';
  return {
    order_by: {
      type: 'string',
      enum: Object.keys(orders),
      default: first,
      description: `The order of the rows${note}`,
    },
    direction: { type: 'string', enum: ['asc', 'desc'], default: direction, description: 'The direction of the order' },
  };
}

const NOT_ITS_NAME: Readonly<Record<string, string>> = { env_id: 'Id of an environment, not its name' };
const ENCODED = 'Percent-encoded: an id may contain any character';

export function pathSchema(...names: readonly string[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => [name, { type: 'string', description: NOT_ITS_NAME[name] ?? ENCODED }]),
    ),
    required: names,
  };
}

/** A schema to serialize answers. Optional fields pass through: a serializer might round a number there (R19). */
export function lenient(schema: JsonSchema): JsonSchema {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const relaxed = Object.entries(properties).map(([name, property]) => [
    name,
    property.properties !== undefined || required.includes(name) ? lenient(property) : ANYTHING,
  ]);
  return { ...schema, properties: Object.fromEntries(relaxed) };
}
