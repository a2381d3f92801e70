import fc from 'fast-check';
import type { Fields, FieldType, Stream } from '../../src/core/stream.ts';

export type Item = Record<string, unknown>;

const SAMPLES: Readonly<Record<FieldType, unknown>> = {
  id: 'id',
  text: 'text',
  integer: 3,
  number: 0.5,
  boolean: true,
  instant: '2026-11-20T04:10:00.123456',
  json: ['a', { b: 1 }],
};

/** An item with every field of a collection. Ids refer to the item that it belongs to. */
export function sampleItem(
  { fields, key, childTables = [] }: Pick<Stream, 'fields' | 'key' | 'childTables'>,
  id: string,
): Item {
  const own = sampleFields(fields);
  for (const name of key) own[name] = `${id}.${name}`;
  return { ...own, ...Object.fromEntries(childTables.map((part) => [part.each, [sampleFields(part.fields)]])) };
}

function sampleFields(fields: Fields): Item {
  const item: Item = {};
  for (const [name, { type, from: [outer, inner] = [name] }] of Object.entries(fields)) {
    if (inner === undefined) item[outer as string] = SAMPLES[type];
    else item[outer as string] = { ...(item[outer as string] as Item), [inner]: SAMPLES[type] };
  }
  return item;
}

const TEXTS = [
  '',
  ' ',
  'a\u0000b',
  '\u0000',
  '\ud800',
  'x\udc00y',
  '\udfff\ud800',
  '😀',
  '\u2028',
  "';--",
  '__proto__',
];
const TIMES = ['2026-11-20', '2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999-23:59'];
const MORE_TIMES = ['2026-11-20T24:00:00Z', '2026-11-20t04:10:00,5+0530', '2026-11-20 04:10', '1e400', '1763640000'];
const NUMBERS = [
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e21,
  5e-324,
  Number.MAX_VALUE,
  Number.POSITIVE_INFINITY,
];

/** Values that are easily confused with another type. */
export const TELLING: readonly unknown[] = [...TEXTS, ...TIMES, ...MORE_TIMES, ...NUMBERS, null, true, [], {}, [[]]];

/** Values as JSON text; `1e400` is parsed as infinity. */
export const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { a: { b: [1] } }),
  fc.constantFrom<unknown>(...TEXTS, ...TIMES, ...MORE_TIMES),
  fc.constantFrom<unknown>(...NUMBERS),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.jsonValue({ maxDepth: 3 }),
  fc.date({ noInvalidDate: false }).map((date) => (Number.isNaN(date.valueOf()) ? 'NaN' : date.toISOString())),
);

const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'extra',
  'deleted_at',
  'mirrored_at',
  'env_id',
  '',
  '7',
  '\ud800',
];

/** Too deep for SQLite, and too deep for the stack. */
const DEPTHS = [2, 890, 1001, 20_000];

/** A change of any item, as data: it names fields by index. */
export type Garbling =
  | { readonly do: 'drop'; readonly at: number }
  | { readonly do: 'set'; readonly at: number; readonly to: unknown }
  | { readonly do: 'add'; readonly name: string; readonly to: unknown }
  | { readonly do: 'nest'; readonly at: number; readonly depth: number }
  | { readonly do: 'inside'; readonly at: number; readonly name: string; readonly to: unknown }
  | { readonly do: 'replace'; readonly to: unknown };

const places = fc.nat(30);
const names = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 5 }));

const garblings: fc.Arbitrary<Garbling> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('drop'), at: places }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('set'), at: places, to: oddValues }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('add'), name: names, to: oddValues }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('nest'), at: places, depth: fc.constantFrom(...DEPTHS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('inside'), at: places, name: names, to: oddValues }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replace'), to: oddValues }) },
);

export const someGarblings = fc.array(garblings, { minLength: 1, maxLength: 3 });

/** Applies changes to an item. The result may no longer be an object. */
export function garbled(item: Item, changes: readonly Garbling[]): unknown {
  return changes.reduce<unknown>((value, change) => (isItem(value) ? changed(value, change) : value), item);
}

function changed(item: Item, change: Garbling): unknown {
  if (change.do === 'replace') return change.to;
  const members = new Map(Object.entries(item));
  if (change.do === 'add') return Object.fromEntries(members.set(change.name, change.to));
  const name = [...members.keys()][change.at % members.size];
  if (name === undefined) return item;
  if (change.do === 'drop') members.delete(name);
  else if (change.do === 'nest') members.set(name, nested(change.depth, item[name]));
  else members.set(name, change.do === 'set' ? change.to : inside(item[name], change));
  return Object.fromEntries(members);
}

/** Changes the first object within a value. */
function inside(value: unknown, { name, to }: { name: string; to: unknown }): unknown {
  if (Array.isArray(value)) return [inside(value[0], { name, to }), ...value.slice(1)];
  return isItem(value) ? Object.fromEntries(new Map(Object.entries(value)).set(name, to)) : to;
}

function nested(depth: number, core: unknown): unknown {
  let value = core;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { in: value };
  return value;
}

/** The nesting depth of a value, counted without recursion. */
export function levelsOf(value: unknown): number {
  let levels = 0;
  let level = [value];
  while (true) {
    level = level.filter((each) => typeof each === 'object' && each !== null);
    if (level.length === 0) return levels;
    levels++;
    level = level.flatMap((each) => Object.values(each as Item));
  }
}

export function isItem(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Mostly null. */
export function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}
