import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_PROGRESS } from '../src/core/checkpoint.ts';
import { pruningRules, type RetentionPolicy } from '../src/core/decide/retention.ts';
import { decodePage } from '../src/core/decode/decode.ts';
import type { OpenMirror } from '../src/core/ports/open-mirror.ts';
import type { Stream } from '../src/core/stream.ts';
import { addDays, addSeconds } from '../src/core/time/instant.ts';
import { openForReading } from '../src/destination/sqlite/open.ts';
import { openLocked } from '../src/destination/sqlite/open-locked.ts';
import { trends } from '../src/page-data/trends.ts';
import { openMirrorReads } from '../src/server/mirror-reads.ts';
import { assetHealthScores } from '../src/streams/asset-health-scores.ts';
import { CATALOGUE } from '../src/streams/catalogue.ts';
import { pruneHistories } from '../src/sync/prune-histories.ts';
import { renewDays } from '../src/sync/renew-days.ts';
import { keepFigures, MACHINE, print } from './figures.ts';

/**
 * A year of hourly scores: the size of the file, the end of a day's last sync, and the page's health trends. Arguments:
 * the number of assets, by default 100, and `--keep` to save the figures in `docs/benchmarks.md`.
 */
const ASSETS = Number(process.argv[2] ?? 100);
const START = '2026-01-01T00:00:00.000000Z';
const RETENTION: RetentionPolicy = {
  ...{ thinScoresDays: 90, keepScoresDays: null, keepExecutionsDays: null, keepRunsDays: 90 },
};
const SCORES = CATALOGUE.find(({ name }) => name === assetHealthScores.name) as Stream;
const DIMENSIONS = ['completeness', 'freshness', 'uniqueness'];

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

async function cpuOf(work: () => unknown): Promise<number> {
  const before = cpuSeconds();
  await work();
  return cpuSeconds() - before;
}

function scoresAt(hour: number): object[] {
  const bucket = { test_count: 3, bucket_at: addSeconds(START, hour * 3600) };
  return Array.from({ length: ASSETS }, (_, asset) => {
    const score = ((asset * 7 + hour * 13) % 100) / 100;
    const dimensions = DIMENSIONS.map((dimension) => ({ dimension, score, ...bucket }));
    return { asset_id: `asset-${(asset * 7919) % ASSETS}-of-the-warehouse`, total: { score, ...bucket }, dimensions };
  });
}

/** A day of hourly syncs, as far as they write scores. */
async function syncDay({ destination }: OpenMirror, day: number): Promise<void> {
  for (let hour = day * 24; hour < (day + 1) * 24; hour++) {
    const commit = {
      kind: 'page',
      checkpoint: NO_PROGRESS,
      archived: decodePage(SCORES, scoresAt(hour)).rows,
    } as const;
    await destination('e', 1).commit(SCORES, commit, new Set());
  }
}

async function endSync(mirror: OpenMirror, day: number): Promise<void> {
  const now = addDays(START, day + 1);
  const ports = { mirror, signal: new AbortController().signal };
  await pruneHistories(ports, { id: 1 }, ['e'], pruningRules(RETENTION, [now, now]));
  await renewDays(ports, { id: 1 }, ['e']);
}

function showTrends(path: string, day: number): void {
  const mirror = openForReading(path);
  const query = { by: null, days: 90, until: addDays(START, day + 1) };
  openMirrorReads(mirror).read((reads) => trends({ reads, env: 'e', limit: null, seesTests: true }, query));
  mirror.connection.close();
}

const folder = mkdtempSync(join(tmpdir(), 'obsync-year-'));
try {
  const path = join(folder, 'mirror.db');
  const clock = () => START;
  const mirror = openLocked(path, { stop: new AbortController().signal, quietMs: 0, clock });
  print(`${MACHINE}; ${ASSETS} assets, ${ASSETS * (DIMENSIONS.length + 1)} scores an hour\n`);
  print('| day | file MiB | scores | end of a sync, CPU s | health trends, CPU ms |\n|---|---|---|---|---|');
  for (let day = 0; day < 365; day++) {
    await syncDay(mirror, day);
    const ending = await cpuOf(() => endSync(mirror, day));
    if ((day + 1) % 30 !== 0) continue;
    const shown = await cpuOf(() => showTrends(path, day));
    const { connection } = openForReading(path);
    const count = connection.prepare('select count(*) from asset_health_score_history').pluck().get();
    connection.close();
    const size = Math.round(statSync(path).size / 2 ** 20);
    print(`| ${day + 1} | ${size} | ${count} | ${ending.toFixed(2)} | ${Math.round(1000 * shown)} |`);
  }
  await mirror.close();
} finally {
  rmSync(folder, { recursive: true });
}
const LEGEND = 'Hourly scores of a year, with `--thin-scores 90d` (the default), by `npm run bench:year`:';
keepFigures('## A year of hourly syncs', LEGEND);
