import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryNamed, PLAIN_FEEDS, TABLES_OF_EVERY_RUN } from '../support/catalogue.ts';
import { type Copy, empty, follow, type Page } from '../support/feed-client.ts';
import { createFollower, mirrorAndCopy } from '../support/served-mirror.ts';
import {
  runConcurrently,
  type ServedWorldScene,
  turnPatterns,
  type withServedWorld,
  writerSteps,
} from '../support/writing-meanwhile.ts';

const SEED = Number(process.env['OBSYNC_SEED'] ?? 20261120);
const RUNS = Number(process.env['OBSYNC_RUNS'] ?? 2);
const LONG = { timeout: 1_000_000 };

/** A list, the key of its items, and SQL of when the mirror last changed each served row. */
interface List {
  readonly path: string;
  readonly key: readonly string[];
  readonly rows: string;
}

const ROW = 'select json_array(%) as key, r.mirrored_at from';
const of = (key: readonly string[], rest: string) => `${ROW.replace('%', key.join(', '))} ${rest}`;
const has = (what: string) => `exists (select 1 from ${what})`;
const asset = (id: string, only = '') => has(`assets o where o.id = ${id} and o.deleted_at is null${only}`);
const table = (id: string) => asset(id, " and o.kind = 'table'");

const ID = ['id'];
const ASSET_EDGE = ['upstream_asset_id', 'downstream_asset_id'];
const COLUMN_EDGE = ['upstream_column_id', 'downstream_column_id'];
const assets = of(ID, 'assets r where deleted_at is null');
const tests = of(ID, 'tests r where deleted_at is null');

const LISTS: readonly List[] = [
  { path: 'assets?limit=2', key: ID, rows: assets },
  { path: 'assets?limit=3&direction=desc', key: ID, rows: assets },
  { path: 'assets/tables?limit=2', key: ID, rows: `${assets} and kind = 'table' and data_platform is not null` },
  { path: 'columns?limit=3', key: ID, rows: of(ID, 'columns r where deleted_at is null') },
  { path: 'tests?limit=2', key: ID, rows: `${tests} and disabled = 0` },
  { path: 'tests?limit=1&disabled=true', key: ID, rows: `${tests} and disabled = 1` },
  {
    path: 'asset-lineage?limit=2',
    key: ASSET_EDGE,
    rows: of(ASSET_EDGE, `asset_lineage r where ${ASSET_EDGE.map((id) => asset(id)).join(' and ')}`),
  },
  { path: 'column-lineage?limit=3', key: COLUMN_EDGE, rows: of(COLUMN_EDGE, 'column_lineage r') },
  {
    path: 'latest-test-executions?limit=2',
    key: ['sub_test_unique_id'],
    rows: of(
      ['sub_test_unique_id'],
      `latest_test_executions r where ${has('tests o where o.id = r.test_id and o.deleted_at is null and o.disabled = 0')}`,
    ),
  },
  {
    path: 'asset-health-scores?limit=2',
    key: ['asset_id'],
    rows: of(['asset_id'], `asset_health_scores r where ${table('r.asset_id')}`),
  },
  ...PLAIN_FEEDS.map(entryNamed).map((entry) => ({
    path: `${entry.path.join('/')}?limit=3`,
    key: ID,
    rows: of(ID, `${entry.table} r where deleted_at is null`),
  })),
];

/** A walk through a list in progress: the rows it has returned, and the rows unchanged since it started. */
interface Walk {
  cursor: string | null;
  readonly met: string[];
  untouched: Map<string, string> | null;
  /** Whether a row changed after the walk started. */
  disturbed: boolean;
}

/** The rows that a list currently serves, by key, with the time of their last change. */
function shownNow({ mirrored }: ServedWorldScene, { rows }: List): Map<string, string> {
  return new Map(mirrored.rows(rows).map((row) => [String(row['key']), String(row['mirrored_at'])]));
}

/** Reads one more page of a walk. @returns whether the walk has ended */
async function walkOn(scene: ServedWorldScene, list: List, walk: Walk): Promise<boolean> {
  const now = shownNow(scene, list);
  const before = walk.untouched;
  walk.untouched = before === null ? now : new Map([...before].filter(([key, at]) => now.get(key) === at));
  walk.disturbed ||= before !== null && (walk.untouched.size < before.size || now.size > before.size);
  const cursor = walk.cursor === null ? '' : `&cursor=${walk.cursor}`;
  const page = (await scene.served.get(`e1/${list.path}${cursor}`)).body as Page;
  const keys = page.items.map((item) => JSON.stringify(list.key.map((name) => item[name])));
  expect(keys.filter((key) => !now.has(key))).toEqual([]);
  walk.met.push(...keys);
  walk.cursor = page.next_cursor;
  return !page.has_more;
}

const begin = (): Walk => ({ cursor: null, met: [], untouched: null, disturbed: false });

/** What the server returns while nothing is written, in the form of a copy. */
async function shown({ served }: ServedWorldScene): Promise<Copy['held'] & { edges: Map<string, Set<string>> }> {
  const copy = empty();
  await follow(served, copy, async () => {});
  return { ...copy.held, edges: copy.edges };
}

/** How the reading sync works. It may be stopped repeatedly, to continue in its next run (R6). */
const manners = fc.record({
  pageSize: fc.constantFrom(1, 3, 2000),
  maxRequests: fc.option(fc.integer({ min: 2, max: 40 }), { nil: undefined }),
});

/** Every row with the time of its last change, including deleted rows. */
const everyRow = ({ mirrored }: ServedWorldScene): Map<string, string> =>
  new Map(
    TABLES_OF_EVERY_RUN.flatMap((table) => mirrored.rows(`select '${table}' as "table", * from ${table}`)).map(
      (row) => [JSON.stringify(row), String(row['mirrored_at'])],
    ),
  );

export const clockOf = ({ mirrored }: Pick<ServedWorldScene, 'mirrored'>) =>
  String(mirrored.rows('select max(mirrored_at) mirrored_at from mirror_environments')[0]?.['mirrored_at']);

export const seconds = (instant: unknown) => String(instant).slice(0, 19);

/** What readers of a server see while its mirror is written. */
export function testReading(withServed: typeof withServedWorld, runs = RUNS): void {
  test('a full list read during a sync repeats no row and skips no unchanged row', LONG, async () => {
    const disturbed = new Set<string>();
    await fc.assert(
      fc.asyncProperty(writerSteps, turnPatterns, (steps, pattern) =>
        withServed((scene) =>
          runConcurrently(scene, { steps, pattern }, async (turn, isOver) => {
            const walks = new Map(LISTS.map((list) => [list, begin()]));
            while (!isOver()) {
              await turn();
              for (const [list, walk] of walks) {
                if (!(await walkOn(scene, list, walk))) continue;
                expect(walk.met.length, list.path).toBe(new Set(walk.met).size);
                const missed = [...(walk.untouched?.keys() ?? [])].filter((key) => !walk.met.includes(key));
                expect(missed, list.path).toEqual([]);
                if (walk.disturbed) disturbed.add(list.path);
                walks.set(list, begin());
              }
            }
          }),
        ),
      ),
      { seed: SEED, numRuns: runs },
    );
    // Otherwise the sync wrote nothing during a walk, and the test would prove little.
    if (runs < RUNS) expect(disturbed.size).toBeGreaterThan(LISTS.length / 2);
    else expect([...disturbed].sort()).toEqual(LISTS.map(({ path }) => path).sort());
  });

  test('a client that follows the feeds during a sync ends with an equal copy, including edges', LONG, async () => {
    await fc.assert(
      fc.asyncProperty(writerSteps, turnPatterns, (steps, pattern) =>
        withServed(async (scene) => {
          const copy = empty();
          await runConcurrently(scene, { steps, pattern }, async (turn, isOver) => {
            while (!isOver()) await follow(scene.served, copy, turn);
          });
          await follow(scene.served, copy, async () => {});
          const edges = new Map([...copy.edges].filter(([id, from]) => copy.held.columns.has(id) && from.size > 0));
          const wanted = await shown(scene);
          const wantedEdges = new Map([...wanted.edges].filter(([, from]) => from.size > 0));
          expect({ ...copy.held, edges }).toEqual({ ...wanted, edges: wantedEdges });
        }),
      ),
      { seed: SEED, numRuns: runs },
    );
  });

  test(
    'a sync from a server during another sync ends with an equal mirror, even without an overlap',
    LONG,
    async () => {
      await fc.assert(
        fc.asyncProperty(writerSteps, turnPatterns, manners, (steps, pattern, { pageSize, maxRequests }) =>
          withServed(async (scene) => {
            const copy = createFollower();
            try {
              await runConcurrently(scene, { steps, pattern }, async (turn, isOver) => {
                while (!isOver()) {
                  const { status } = await copy.sync(scene.served, { overlapSeconds: 0, pageSize, maxRequests, turn });
                  expect(['done', 'stopped']).toContain(status);
                }
              });
              let { status, run, cycle } = await copy.sync(scene.served, { overlapSeconds: 0, pageSize });
              if (run !== cycle) status = (await copy.sync(scene.served, { overlapSeconds: 0, pageSize })).status;
              expect(status).toBe('done');
              const sides = mirrorAndCopy(scene.mirrored, copy, { withScores: false });
              expect(sides.copy).toEqual(sides.mirror);
            } finally {
              copy.close();
            }
          }),
        ),
        { seed: SEED, numRuns: runs },
      );
    },
  );

  test('Date is the mirror’s time, and every row written after an answer has a later time', LONG, async () => {
    await fc.assert(
      fc.asyncProperty(writerSteps, turnPatterns, (steps, pattern) =>
        withServed((scene) =>
          runConcurrently(scene, { steps, pattern }, async (turn, isOver) => {
            let told = '';
            let before = everyRow(scene);
            while (!isOver()) {
              await turn();
              const now = everyRow(scene);
              const changedAt = [...now].filter(([row]) => !before.has(row)).map(([, at]) => at);
              expect(changedAt.filter((at) => at <= told)).toEqual([]);
              before = now;
              for (const path of ['environments', 'e1/columns?limit=2000', 'e1/assets/a00']) {
                const { date } = await scene.served.get(path);
                expect(seconds(date)).toBe(seconds(clockOf(scene)));
                told = date > told ? date : told;
              }
            }
          }),
        ),
      ),
      { seed: SEED, numRuns: runs },
    );
  });
}
