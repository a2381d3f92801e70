import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type DecodedRow, decodePage, joinKey, type RejectedRow } from '../../src/core/decode/decode.ts';
import type { ColumnValue, Field, Fields, Row } from '../../src/core/stream.ts';
import { parseInstant } from '../../src/core/time/instant.ts';
import { STREAM_NAMES } from '../../src/streams/catalogue.ts';
import type { CatalogueEntry } from '../../src/streams/entry.ts';
import { entryNamed } from '../support/catalogue.ts';
import { garbled, type Item, isItem, levelsOf, oddValues, sampleItem, someGarblings, TELLING } from './garble.ts';
import { LONG, tries } from './runs.ts';

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** The deepest nesting that is stored. SQLite reads a thousand levels, and `extra` adds one. */
const KEPT_LEVELS = 900;

/** JSON as its members in order, so that a member called `__proto__` counts as any other. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isItem(value)) return Object.is(value, -0) ? 0 : value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { members: members.map(([name, inner]) => [name, canonical(inner)]) };
}

/** The value after a round trip through text: JSON has no infinity, and all text is well-formed (R19). */
const reread = (value: unknown): unknown => wellFormed(JSON.parse(JSON.stringify(value)));

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isItem(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toWellFormed(), wellFormed(inner)]));
}

function fits({ type }: Field, sent: unknown): boolean {
  switch (type) {
    case 'id':
      return typeof sent === 'string' && sent.isWellFormed();
    case 'text':
      return typeof sent === 'string';
    case 'instant':
      return typeof sent === 'string' && parseInstant(sent) !== null;
    case 'integer':
      return Number.isSafeInteger(sent);
    case 'number':
      return typeof sent === 'number' && Math.abs(sent) <= Number.MAX_VALUE;
    case 'boolean':
      return typeof sent === 'boolean';
    case 'json':
      return typeof sent === 'object';
  }
}

function expectValue({ type }: Field, value: ColumnValue | undefined, sent: unknown): void {
  if (type === 'instant') expect(value).toMatch(INSTANT);
  else if (type === 'json') expect(canonical(JSON.parse(String(value)))).toEqual(canonical(reread(sent)));
  else expect(value).toBe(type === 'boolean' ? Number(sent) : wellFormed(sent));
}

/**
 * The default for a missing or invalid value: null, except for lists and counts that are never null.
 */
function standIn({ type, required, empty }: Field, sent: unknown): ColumnValue {
  if (sent === undefined || sent === null) return empty ?? null;
  return required && type === 'integer' && Number.isInteger(sent) ? (sent as number) : null;
}

/** The members of an item that no field uses. */
function expectFields(fields: Fields, row: Row, item: Item, excluded: readonly string[]): void {
  const extra = new Map(Object.entries(item).filter(([name]) => !excluded.includes(name)));
  for (const [name, field] of Object.entries(fields)) {
    const [outer = name, inner] = field.from ?? [name];
    const home = inner === undefined ? item : item[outer];
    const sent = isItem(home) ? home[inner ?? outer] : undefined;
    const taken = sent !== null && sent !== undefined && fits(field, sent);
    if (taken) expectValue(field, row[name], sent);
    else expect(row[name]).toBe(standIn(field, sent));
    if (inner === undefined && (taken || sent === null)) extra.delete(outer);
    else if (inner !== undefined && (taken || sent === null || sent === undefined)) {
      const { [inner]: _, ...rest } = extra.get(outer) as Item;
      if (Object.keys(rest).length === 0) extra.delete(outer);
      else extra.set(outer, rest);
    }
  }
  const kept: unknown = row['extra'] === null ? {} : JSON.parse(String(row['extra']));
  expect(canonical(kept)).toEqual(canonical(reread(Object.fromEntries(extra))));
}

function expectRow(stream: CatalogueEntry, { key, row, deletedAt, parts }: DecodedRow, item: unknown): void {
  if (!isItem(item)) throw new Error('what is no item became a row');
  expect(key).toEqual(stream.key.map((name) => item[name]));
  for (const half of key) expect(Buffer.from(half).toString()).toBe(half);
  expect(key).not.toContain('');
  expect(deletedAt ?? '9999-12-31T23:59:59.999999Z').toMatch(INSTANT);
  for (const [name, { required }] of Object.entries(stream.fields))
    if (required && deletedAt === null) expect(row[name]).not.toBeNull();
  const arrays = (stream.childTables ?? []).map(({ each }) => each);
  expectFields(stream.fields, row, item, ['deleted_at', ...arrays]);
  for (const [i, part] of (stream.childTables ?? []).entries()) {
    const elements = (item[part.each] ?? []) as Item[];
    expect(parts[i]).toHaveLength(elements.length);
    for (const [n, element] of elements.entries()) {
      const made = (parts[i] ?? [])[n] as Row;
      expectFields(part.fields, made, element, ['deleted_at']);
      expect(part.key.map((name) => made[name])).not.toContain(null);
    }
  }
}

function expectRejected(stream: CatalogueEntry, { key, rowKey, reason, payload }: RejectedRow, item: unknown): void {
  expect(reason).toMatch(/^[^\n]+$/);
  expect(rowKey).toBe(key === null ? payload : joinKey(key));
  if (key !== null) expect(key).toEqual(stream.key.map((name) => (item as Item)[name]));
  const kept: unknown = JSON.parse(payload);
  if (levelsOf(item) <= KEPT_LEVELS) expect(canonical(kept)).toEqual(canonical(reread(item)));
  else if (isItem(item)) expect(new Set(Object.keys(kept as Item))).toEqual(new Set(Object.keys(item).map(wellFormed)));
}

const isTombstone = ({ method }: CatalogueEntry, { deleted_at: at }: Item): boolean =>
  method === 'feed' && typeof at === 'string' && parseInstant(at) !== null;

const isUsable = (part: unknown): boolean => typeof part !== 'string' || part.isWellFormed();

function expectOneOf(stream: CatalogueEntry, item: unknown, tombstones: boolean): void {
  const { rows, rejected } = decodePage(stream, [item], { tombstones });
  // The mirror has no row under an unusable key, so its tombstone is ignored.
  const isIgnored = isItem(item) && isTombstone(stream, item) && !stream.key.every((name) => isUsable(item[name]));
  expect(rows.length + rejected.length).toBe(isIgnored ? 0 : 1);
  for (const row of rows) expectRow(stream, row, item);
  for (const row of rejected) expectRejected(stream, row, item);
}

test.each(STREAM_NAMES)(
  'any odd value in any field of %s is stored unchanged, but well-formed, or rejected (R19, R20)',
  (name) => {
    const stream = entryNamed(name);
    const sample = sampleItem(stream, 'i');
    for (const to of TELLING) {
      for (const [at, value] of Object.values(sample).entries()) {
        expectOneOf(stream, garbled(sample, [{ do: 'set', at, to }]), false);
        if (typeof value !== 'object') continue;
        for (const inner of ['score', 'test_count', 'bucket_at', 'dimension', 'more'])
          expectOneOf(stream, garbled(sample, [{ do: 'inside', at, name: inner, to }]), false);
      }
      expectOneOf(stream, garbled(sample, [{ do: 'add', name: 'deleted_at', to }]), true);
    }
  },
);

const pages = fc.record({
  name: fc.constantFrom(...STREAM_NAMES),
  tombstones: fc.boolean(),
  deletedAt: fc.option(fc.oneof(fc.constant('2026-11-20T04:10:00Z'), oddValues), { nil: undefined }),
  changes: fc.array(fc.option(someGarblings, { nil: [] }), { minLength: 1, maxLength: 5 }),
});

test('any item becomes one row of the right types or one rejected row (R19, R20)', LONG, () => {
  fc.assert(
    fc.property(pages, ({ name, tombstones, deletedAt, changes }) => {
      const stream = entryNamed(name);
      const items = changes.map((change, i) => {
        const sample = sampleItem(stream, `i${i}`);
        return garbled(deletedAt === undefined ? sample : { ...sample, deleted_at: deletedAt }, change);
      });
      const page = decodePage(stream, items, { tombstones });
      const alone = items.map((item) => decodePage(stream, [item], { tombstones }));
      expect(page.rows).toEqual(alone.flatMap(({ rows }) => rows));
      expect(page.rejected).toEqual(alone.flatMap(({ rejected }) => rejected));
      for (const [i, { rejected }] of alone.entries()) {
        expectOneOf(stream, items[i], tombstones);
        if (changes[i]?.length === 0 && deletedAt === undefined && !tombstones) expect(rejected).toEqual([]);
      }
    }),
    tries(300),
  );
});

test('a decoded instant is fixed-width text in the order of time (R4)', LONG, () => {
  const digits = (max: number, width: number): fc.Arbitrary<string> =>
    fc.nat(max).map((n) => String(n).padStart(width, '0'));
  const date = fc.tuple(digits(9999, 4), digits(13, 2), digits(32, 2)).map((parts) => parts.join('-'));
  const time = fc.tuple(digits(24, 2), digits(60, 2), digits(60, 2)).map((parts) => parts.join(':'));
  const fraction = fc.oneof(
    fc.constant(''),
    fc.nat(999_999).map((n) => `.${String(n).padStart(6, '0')}`),
  );
  const zone = fc.constantFrom('', 'Z', 'z', '+02:00', '-2359', '+14', '+24:00', ' UTC', '+00:00:00');
  const written = fc
    .tuple(date, fc.constantFrom('T', 't', ' ', ''), time, fraction, zone)
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: written }, fc.string()), (text) => {
      const instant = parseInstant(text);
      if (instant === null) return;
      expect(instant).toMatch(INSTANT);
      expect(parseInstant(instant)).toBe(instant);
      const bare = text.replace(/[Tt ]/, 'T').replace(/(\.\d{3})\d*/, '$1');
      const ms = Date.parse(/(?:[zZ]|[+-]\d\d:\d\d)$/.test(bare) ? bare.toUpperCase() : `${bare}Z`);
      if (!Number.isNaN(ms)) expect(Date.parse(`${instant.slice(0, 23)}Z`)).toBe(ms);
    }),
    tries(1000),
  );
});
