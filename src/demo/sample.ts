import { environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import { mirror, mirrorEnvironments } from '../../schema/sync.ts';
import { HOUR_MS } from '../core/time/duration.ts';
import { instantOfMs } from '../core/time/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { buildTests, type TestRow } from './checks.ts';
import { buildDashboards } from './dashboards.ts';
import { DOMAINS } from './domains.ts';
import type { SampleEstate } from './estate.ts';
import { type InsertRows, insertEstate, insertInto } from './insert.ts';
import { randomOf } from './random.ts';
import { type RunRow, runsOf } from './runs.ts';
import { scoresOf } from './scores.ts';
import { buildDomain } from './warehouse.ts';

export interface SampleOptions {
  /** The same seed and time give the same sample. */
  readonly seed: number;
  readonly nowMs: number;
}

const PLACES = [
  { id: 'prod-analytics', name: 'Production Analytics', cron: '0 * * * *', platform: 'snowflake', domains: 14 },
  { id: 'staging-analytics', name: 'Staging Analytics', cron: '30 6 * * *', platform: 'bigquery', domains: 9 },
];

export const ENVIRONMENT_IDS: readonly string[] = PLACES.map(({ id }) => id);

/** The service's newest sync was this long ago; its syncs go back sixty days. */
const QUIET_MS = 3 * HOUR_MS;
const SYNCS = 240;

const BASE_URL = 'https://sample.test';

/** Fills an empty mirror file with two environments of a shop's warehouse: the sample source of `obsync demo`. */
export function makeSample({ connection }: MirrorFile, { seed, nowMs }: SampleOptions): void {
  const insert = insertInto(connection);
  const mirrored_at = instantOfMs(nowMs);
  connection.transaction(() => {
    insert(mirror, [{ id: 1, base_url: BASE_URL }]);
    PLACES.forEach(({ id, name, cron, platform, domains }, i) => {
      const estate: SampleEstate = {
        env: id,
        random: randomOf(seed * 31 + i),
        nowMs,
        latestMs: nowMs - QUIET_MS,
        syncs: SYNCS,
        nodes: [],
      };
      insert(mirrorEnvironments, [{ env_id: id, mirrored_at, last_mark: 0 }]);
      const synced = { last_sync_status: 'success', last_synced_at: instantOfMs(estate.latestMs) };
      insert(environments, [{ id, name, cron, warehouse_type: platform, ...synced, mirrored_at }]);
      for (const domain of DOMAINS.slice(0, domains)) {
        const within = { ...estate, domain, platform };
        buildDashboards(within, buildDomain(within));
      }
      insertEstate(insert, estate);
      insertTests(insert, estate, buildTests(estate));
    });
  })();
}

function insertTests(insert: InsertRows, estate: SampleEstate, rows: readonly TestRow[]): void {
  const runs = rows.map((test) => ({ test, of: runsOf(test, estate) }));
  const all = runs.flatMap(({ of }) => of.flat());
  insert(tests, rows);
  insert(testExecutions, all);
  insert(latestTestExecutions, latest(runs));
  const enabled = runs.filter(({ test }) => test.disabled === 0);
  const byAsset = [...Map.groupBy(enabled, ({ test }) => test.asset_id as string)].map(([asset_id, group]) => ({
    env_id: estate.env,
    asset_id,
    runs: latest(group),
  }));
  const { totals, dimensions } = scoresOf(byAsset, estate.latestMs, estate.nowMs);
  insert(assetHealthScores, totals);
  insert(assetHealthScoreDimensions, dimensions);
}

/** The newest run of each sub-test. */
function latest(runs: readonly { readonly of: readonly RunRow[][] }[]): RunRow[] {
  return runs.flatMap(({ of }) => of.flatMap((ofSubTest) => ofSubTest.slice(0, 1)));
}
