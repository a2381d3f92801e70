import { closeWritten } from '../src/destination/sqlite/close.ts';
import { openForReading } from '../src/destination/sqlite/open.ts';
import { rootToken } from '../src/server/access.ts';
import { openAnswering } from '../src/server/answers.ts';
import { openMirrorReads } from '../src/server/mirror-reads.ts';
import { keepFigures, MACHINE, median, print, verdict } from './figures.ts';
import { HUB, MIDDLE, openPageMirror, PAGE_SIZE } from './page-mirror.ts';
import { idOf } from './views-mirror.ts';

/**
 * How long the data of each page view takes in a large mirror: right after a commit, and again. Prints a table, and
 * saves it in `docs/benchmarks.md` with `--keep`; exits 1 if a bound is exceeded. `--at FILE` creates the mirror there
 * once and keeps it.
 */
const RUNS = 5;
const MAX_MS = 200;

const { reader: ALL } = rootToken('all', 'all');
const HALF = { ...ALL, name: 'half', paths: ['half 1'] };

type Query = Readonly<Record<string, unknown>>;
const PART = { limit: 100, offset: 0 };
const beside = { ...PART, limit: 24, of: 'assets' };

const CASES: readonly [what: string, operationId: string, query: Query, reader?: typeof ALL][] = [
  ['mirror', 'pageMirror', {}],
  ['failing', 'pageFailing', PART],
  ['failing, half of the assets', 'pageFailing', PART, HALF],
  ['trends', 'pageTrends', { days: 30 }],
  ['trends by owner', 'pageTrends', { days: 30, by: 'owner' }],
  ['trends by tag', 'pageTrends', { days: 30, by: 'tag' }],
  ['trends by schema, half of the assets', 'pageTrends', { days: 30, by: 'schema' }, HALF],
  ['trends of 90 days', 'pageTrends', { days: 90 }],
  ['untested', 'pageUntested', { ...PART, all: false }],
  ['untested, all tables', 'pageUntested', { ...PART, all: true }],
  ['untested, half of the assets', 'pageUntested', { ...PART, all: false }, HALF],
  ['search', 'pageSearch', { q: 'table_12' }],
  ['asset', 'pageAsset', { id: HUB }],
  ['columns of 5000', 'pageColumns', { asset_id: MIDDLE, offset: 0 }],
  ['node', 'pageNode', { id: HUB, of: 'assets' }],
  ['8000 neighbours', 'pageNeighbours', { ...beside, id: HUB, direction: 'downstream' }],
  [
    'neighbours of a column',
    'pageNeighbours',
    { ...beside, of: 'columns', id: idOf('column', 5), direction: 'downstream' },
  ],
];

const { path, written, remove } = openPageMirror();
const mirror = openForReading(path);
const { answer } = openAnswering({ store: openMirrorReads(mirror), weights: new Map() });

const NEW_RUN = `insert or ignore into test_executions
  select env_id, sub_test_unique_id, @id, test_id, sub_type, status, failure_count, @now, duration_seconds, column_name, quality_dimension,
    result_reason, exception, description, synced_at, @now, extra
  from latest_test_executions where env_id = 'env-1' and sub_test_unique_id = @sub`;

let commits = 0;
/** Like a sync that commits the results of ten tests. */
function commit(): void {
  commits += 1;
  const now = `2026-11-20T00:00:00.${String(commits).padStart(6, '0')}Z`;
  for (let n = 0; n < 10; n += 1) {
    const run = { sub: idOf('sub0', commits * 10 + n), id: idOf(`new${Date.now()}`, commits * 10 + n), now };
    written.connection.prepare(NEW_RUN).run(run);
  }
  written.connection.prepare('update mirror_environments set mirrored_at = ?').run(now);
}

function ask([, operationId, query, reader = ALL]: (typeof CASES)[number]): { ms: number; bytes: number } {
  const start = process.threadCpuUsage();
  const answered = answer({ operationId, query, reader, params: { env_id: 'env-1' } });
  const used = process.threadCpuUsage(start);
  const ms = (used.user + used.system) / 1000;
  if ('refusal' in answered) throw new Error(JSON.stringify(answered.refusal));
  return { ms, bytes: answered.body.length };
}

print(`${MACHINE}; medians of ${RUNS}; a mirror of ${PAGE_SIZE.tables} tables, ${PAGE_SIZE.dashboards} dashboards, ${PAGE_SIZE.columns} columns,
${PAGE_SIZE.edges} edges, ${PAGE_SIZE.tests} tests and ${PAGE_SIZE.runs} runs in ${PAGE_SIZE.days} days. The bound limits the CPU
time of the first answer after a commit. What is cached between commits is read by the first answer that needs it.

| what | KB | first, CPU ms | after a commit, CPU ms | again, CPU ms | at most | holds |
|---|---|---|---|---|---|---|`);
for (const each of CASES) {
  const first = ask(each);
  const after = Array.from({ length: RUNS }, () => {
    commit();
    return ask(each);
  });
  const again = Array.from({ length: RUNS }, () => ask(each));
  const ms = median(after.map((one) => one.ms));
  const [{ bytes } = { bytes: 0 }] = again;
  const figures = [
    (bytes / 1024).toFixed(0),
    first.ms.toFixed(0),
    ms.toFixed(0),
    median(again.map((one) => one.ms)).toFixed(0),
    MAX_MS,
    verdict(ms <= MAX_MS),
  ];
  print(`| ${each[0]} | ${figures.join(' | ')} |`);
}
mirror.connection.close();
closeWritten(written);
remove();
keepFigures('## The data of the page');
