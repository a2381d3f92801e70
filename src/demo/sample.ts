import { environments } from '../../schema/assets.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import { mirror } from '../../schema/sync.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/tests.ts';
import { instantOfMs } from '../core/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { buildTests, type TestRow } from './checks.ts';
import { buildDashboards } from './dashboards.ts';
import { DOMAINS } from './domains.ts';
import { type Estate, HOUR_MS } from './estate.ts';
import { type Insert, insertEstate, insertInto } from './insert.ts';
import { randomOf } from './random.ts';
import { type RunRow, runsOf } from './runs.ts';
import { scoresOf } from './scores.ts';
import { buildDomain } from './warehouse.ts';

export interface SampleOptions {
  /** The same seed and time make the same sample. */
  readonly seed: number;
  readonly nowMs: number;
}

interface Place {
  readonly id: string;
  readonly name: string;
  readonly cron: string;
  readonly platform: string;
  readonly domains: number;
}

const PLACES: readonly Place[] = [
  { id: 'prod-analytics', name: 'Production Analytics', cron: '0 * * * *', platform: 'snowflake', domains: 14 },
  { id: 'staging-analytics', name: 'Staging Analytics', cron: '30 6 * * *', platform: 'bigquery', domains: 9 },
];

export const ENVIRONMENT_IDS: readonly string[] = PLACES.map(({ id }) => id);

/** Nothing in the sample was synced later than this before now; the passes go back sixty days. */
const QUIET_MS = 3 * HOUR_MS;
const PASSES = 240;

/** What the sample says it mirrors. */
const BASE_URL = 'https://sample.test';

/** Fills an empty mirror file with two environments of a shop's warehouse: the sample source of `obsync demo`. */
export function makeSample({ connection }: MirrorFile, { seed, nowMs }: SampleOptions): void {
  const insert = insertInto(connection);
  const clock = { id: 1, base_url: BASE_URL, mirrored_at: instantOfMs(nowMs), last_mark: 0 };
  connection.transaction(() => {
    insert(mirror, [clock]);
    PLACES.forEach((place, i) => {
      const times = { nowMs, latestMs: nowMs - QUIET_MS, passes: PASSES };
      const estate: Estate = {
        env: place.id,
        platform: place.platform,
        random: randomOf(seed * 31 + i),
        nodes: [],
        ...times,
      };
      insert(environments, [environmentRow(place, estate)]);
      for (const domain of DOMAINS.slice(0, place.domains))
        buildDashboards(estate, domain, buildDomain(estate, domain));
      insertEstate(insert, estate);
      insertTests(insert, estate, buildTests(estate));
    });
  })();
}

function environmentRow({ id, name, cron, platform }: Place, { latestMs, nowMs }: Estate) {
  const synced = { last_sync_status: 'success', last_synced_at: instantOfMs(latestMs) };
  return { id, name, cron, warehouse_type: platform, ...synced, mirrored_at: instantOfMs(nowMs) };
}

function insertTests(insert: Insert, estate: Estate, rows: readonly TestRow[]): void {
  const runs = rows.map((test) => ({ test, of: runsOf(test, estate.random, estate) }));
  insert(tests, rows);
  insert(
    testExecutions,
    runs.flatMap(({ of }) => of.flat()),
  );
  insert(
    latestTestExecutions,
    runs.flatMap(({ of }) => latest(of)),
  );
  const enabled = runs.filter(({ test }) => test.disabled === 0);
  const byAsset = [...Map.groupBy(enabled, ({ test }) => test.asset_id as string)].map(([asset_id, group]) => ({
    env_id: estate.env,
    asset_id,
    runs: group.flatMap(({ of }) => latest(of)),
  }));
  const { totals, dimensions } = scoresOf(byAsset, estate.latestMs, estate.nowMs);
  insert(assetHealthScores, totals);
  insert(assetHealthScoreDimensions, dimensions);
}

function latest(runs: readonly RunRow[][]): RunRow[] {
  return runs.flatMap((ofSubTest) => ofSubTest.slice(0, 1));
}
