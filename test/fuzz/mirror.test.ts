import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Page } from '../../src/core/ports/source.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { furnish } from '../model/furnish.ts';
import { LISTS } from '../model/lists.ts';
import { createTestMirror, type Row, type TestMirror } from '../model/test-mirror.ts';
import { createWorld, type LoggedRequest, type World } from '../model/world.ts';
import { STREAM_TABLES } from '../support/catalogue.ts';
import { type Garbling, garbled, type Item, someGarblings } from './garble.ts';
import { LONG, tries } from './runs.ts';

/** An item of a collection that is always garbled in the same way. */
interface Victim {
  readonly path: string;
  readonly nth: number;
  readonly changes: readonly Garbling[];
}

const PATHS = Object.keys(LISTS);

/** Values that SQLite would change or fail on. */
const telling: fc.Arbitrary<Garbling[]> = fc
  .oneof(
    fc.record({
      do: fc.constant('set' as const),
      at: fc.nat(30),
      to: fc.constantFrom('\ud800', 'x\udc00', 'a\u0000b', '\u0000', Number.POSITIVE_INFINITY, -0, 2 ** 53),
    }),
    fc.record({ do: fc.constant('nest' as const), at: fc.nat(30), depth: fc.constant(1001) }),
  )
  .map((one) => [one]);

const victims: fc.Arbitrary<Victim[]> = fc.uniqueArray(
  fc.record({ path: fc.constantFrom(...PATHS), nth: fc.nat(20), changes: fc.oneof(someGarblings, telling) }),
  { minLength: 1, maxLength: 4, selector: ({ path }) => path },
);

const keyIn = (path: string): ((item: unknown) => string[]) => {
  const { key = [] } = CATALOGUE.find((stream) => stream.path.join('/') === path) ?? {};
  return (item) => key.map((name) => String((item as Item)[name]));
};

/** Garbles the victims. @returns all parts of their keys */
function spoil(world: World, spoilt: readonly Victim[]): ReadonlySet<string> {
  const place = world.environment();
  const keys = new Map(
    spoilt.map(({ path, nth, changes }) => {
      const rows = LISTS[path]?.(place, {}, '') ?? [];
      const key = keyIn(path)(rows[nth % Math.max(1, rows.length)]?.item ?? {});
      return [path, { key, changes }];
    }),
  );
  world.transformPage = (page: Page, { path }: LoggedRequest) => {
    const victim = keys.get(path.split('/').slice(1).join('/'));
    if (victim === undefined) return page;
    const of = keyIn(path.split('/').slice(1).join('/'));
    const isVictim = (item: unknown): boolean => String(of(item)) === String(victim.key);
    return {
      ...page,
      items: [...page.items].map((item) => (isVictim(item) ? garbled(item as Item, victim.changes) : item)),
    };
  };
  return new Set([...keys.values()].flatMap(({ key }) => key));
}

/** Rows that contain no victim's id, including the mirror's own times. */
function others(mirrored: TestMirror, named: ReadonlySet<string>): string[] {
  const spared = (row: Row): boolean => !Object.values(row).some((value) => named.has(String(value)));
  return STREAM_TABLES.flatMap((table) =>
    mirrored
      .rows(`select * from ${table}`)
      .filter(spared)
      .map((row) => `${table} ${JSON.stringify(row)}`),
  );
}

/** Reads every view to its end, whatever the tables contain. */
function readViews(mirrored: TestMirror): void {
  for (const { name } of mirrored.rows("select name from sqlite_master where type = 'view'"))
    mirrored.rows(`select * from "${name}"`);
}

test('a garbled item changes no row but its own, however often it is returned (R20, R21)', LONG, async () => {
  await fc.assert(
    fc.asyncProperty(victims, fc.boolean(), async (spoilt, full) => {
      const world = createWorld();
      furnish(world.environment());
      const mirrored = createTestMirror(world);
      try {
        expect((await mirrored.sync({ history: true })).status).toBe('done');
        world.advance(60);
        const named = spoil(world, spoilt);
        const before = others(mirrored, named);
        const wish = { history: true, full, allowShrink: true };
        expect((await mirrored.sync(wish)).error).toBeNull();
        await mirrored.sync(wish);
        readViews(mirrored);
        expect(others(mirrored, named)).toEqual(expect.arrayContaining(before));
        const { rows_written } = await mirrored.sync(wish);
        expect(rows_written).toBe(0);
        world.transformPage = (page) => page;
        await mirrored.sync({ ...wish, full: true });
        expect(others(mirrored, named)).toEqual(expect.arrayContaining(before));
      } finally {
        mirrored.close();
      }
    }),
    tries(12),
  );
});
