import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForReading } from '../src/destination/sqlite/open.ts';
import { MACHINE } from './figures.ts';
import { bareStatement } from './serve-bare.ts';
import { loadOf, type Measured, timeOf } from './serve-load.ts';
import { assetId, COLUMNS, columnId, makeMirror } from './serve-mirror.ts';
import { ROOT, type Serving, startPlain, startServe } from './serve-process.ts';

/**
 * `obsync serve` with a mirror of a million columns and half a million other rows, compared with the same statements on
 * the bare file. Prints two tables. Argument: seconds per measurement (default 5).
 */
const [seconds = 5] = process.argv.slice(2).map(Number);
const PAGES = 400;
const CONNECTIONS = [1, 4, 8];
const DEEP_PAGES = 450;

const folder = mkdtempSync(join(tmpdir(), 'obsync-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
const file = join(folder, 'mirror.db');
const nowMs = Date.now();
const since = new Date(nowMs).toISOString();
makeMirror(file, nowMs);
const serving = await startServe(file, folder);
const plain = await startPlain(file);

/** Ids from the whole table in random order. */
const ids = Array.from({ length: PAGES }, (_, i) => columnId((i * 7919 * 31) % COLUMNS));
const QUESTIONS = [
  {
    name: 'a page of 500 of `/columns`',
    paths: (of: Serving) => of.followPages('/columns?limit=500', PAGES),
    bare: bareStatement.pages(PAGES),
  },
  {
    name: 'a get-one, `/columns/{id}`',
    paths: async () => ids.map((id) => `/columns/${encodeURIComponent(id)}`),
    bare: bareStatement.ones(ids),
  },
  {
    name: 'a feed with nothing new, `/columns?synced_since=…`',
    paths: async () => [`/columns?synced_since=${since}`],
    bare: bareStatement.feed(since),
  },
];

console.log(`${MACHINE}\n`);
console.log('| what | how | per second | p99 ms | CPU ms each | of the bare rate |\n|---|---|---|---|---|---|');
const row = (name: string, how: string, measured: Measured, ratio: string): void => {
  const figures = [measured.perSecond.toFixed(0), measured.p99Ms.toFixed(2), measured.cpuMs.toFixed(2), ratio];
  console.log(`| ${[name, how, ...figures].join(' | ')} |`);
};

const mirror = openForReading(file);
for (const { name, paths, bare } of QUESTIONS) {
  const alone = bare(mirror, seconds);
  row(name, 'bare SQLite, rows as objects', alone.rows, '');
  row(name, 'the same and `JSON.stringify`', alone.text, '');
  for (const connections of CONNECTIONS) {
    const least = await loadOf(plain, { paths: await paths(plain), connections, seconds });
    row(name, `a few lines of Fastify, ${connections} at a time`, least, ratioOf(least, alone.rows));
    const served = await loadOf(serving, { paths: await paths(serving), connections, seconds });
    row(name, `\`obsync serve\`, ${connections} at a time`, served, ratioOf(served, alone.rows));
  }
}
mirror.connection.close();

const deep = (await serving.followPages('/columns?limit=2000', DEEP_PAGES)).at(-1);
const idsOf = (id: (n: number) => string): string => Array.from({ length: 700 }, (_, n) => id(n * 997)).join('&ids=');
console.log(
  '\n| alone, seven times | first ms | median ms | main thread blocked, median ms | at most |\n|---|---|---|---|---|',
);
const PATHS = Array.from({ length: 1000 }, (_, i) => `models/marts/area_${i * 13}`).join('&path=');
const RARE: readonly [name: string, path: string, token?: string][] = [
  ['nothing but `/healthz`', '/healthz'],
  ['`/metrics`', '/metrics'],
  ['the aggregate of all table assets', `${ROOT}/asset-health-scores/aggregate`],
  ['the aggregate of one path', `${ROOT}/asset-health-scores/aggregate?path=models/marts/area_1`],
  ['the aggregate of 1000 paths', `${ROOT}/asset-health-scores/aggregate?path=${PATHS}`],
  ['a page of the assets of 1000 paths', `${ROOT}/assets?path=${PATHS}`],
  ['a page of a value that no column has', `${ROOT}/columns?data_types=NONE`],
  ['a page of a value that few columns have', `${ROOT}/columns?data_types=GEOGRAPHY`],
  ['the columns of 3 assets', `${ROOT}/columns?asset_ids=${[1, 2, 3].map(assetId).join('&asset_ids=')}`],
  ['the columns that a token of 3 assets sees', `${ROOT}/columns`, 'ids'],
  ['the columns that a token of one path sees', `${ROOT}/columns`, 'path'],
  ['the columns that a token of no path there is sees', `${ROOT}/columns`, 'nothing'],
  ['a page of 2000 of `/columns`', `${ROOT}/columns?limit=2000`],
  ['the same, 898 000 rows behind the first', `${ROOT}${deep}`],
  ['the same in the order of `synced_at`, backwards', `${ROOT}/columns?limit=2000&order_by=synced_at&direction=desc`],
  ['a feed of 2000 columns', `${ROOT}/columns?limit=2000&synced_since=${new Date(nowMs - 86_400_000).toISOString()}`],
  ['700 columns by their ids', `${ROOT}/columns?ids=${idsOf(columnId)}`],
  ['700 ids that no column has', `${ROOT}/columns?ids=${idsOf((n) => `none.${n}`)}`],
  ['a column that is not there', `${ROOT}/columns/none`],
  ['a page of 2000 of `/latest-test-executions`', `${ROOT}/latest-test-executions?limit=2000`],
  ['a page of 500 of `/assets/tables`', `${ROOT}/assets/tables`],
  ['a page of 500 of `/asset-health-scores`', `${ROOT}/asset-health-scores`],
  ['a page of 500 of `/column-lineage`', `${ROOT}/column-lineage`],
  ['`/column-lineage` by `synced_at`', `${ROOT}/column-lineage?order_by=synced_at`],
  ['a feed of `/column-lineage` with nothing new', `${ROOT}/column-lineage?synced_since=${since}`],
];
for (const [name, path, token] of RARE) {
  const { firstMs, medianMs, blockedMs, maxBlockedMs } = await timeOf(serving, path, token);
  console.log(`| ${name} | ${[firstMs, medianMs, blockedMs, maxBlockedMs].map((ms) => ms.toFixed(1)).join(' | ')} |`);
}
await Promise.all([serving.stop(), plain.stop()]);

function ratioOf(served: Measured, bare: Measured): string {
  return (served.perSecond / bare.perSecond).toFixed(2);
}
