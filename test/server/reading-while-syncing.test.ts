import { expect, test } from 'vitest';
import type { Item } from '../model/environment.ts';
import type { Page } from '../support/feed-client.ts';
import { interruptTransactions } from '../support/served-mirror.ts';
import { withServedWorld } from '../support/writing-meanwhile.ts';
import { clockOf, seconds, testReading } from './reading-cases.ts';

testReading(withServedWorld);

/** A commit one second later that changes every column, total and dimension. */
const COMMIT = `begin;
  update mirror_environments set mirrored_at = strftime('%Y-%m-%dT%H:%M:%S.000000Z', mirrored_at, '+1 second');
  update columns set mirrored_at = (select max(mirrored_at) from mirror_environments);
  update asset_health_scores set score = score / 2;
  update asset_health_score_dimensions set score = (select s.score from asset_health_scores s where s.asset_id = asset_health_score_dimensions.asset_id);
  commit`;

test('a commit during an answer changes neither the answer nor its Date', async () => {
  let happens = (): void => {};
  await withServedWorld(
    async ({ mirrored, served }) => {
      mirrored.exec(COMMIT);
      happens = () => mirrored.exec(COMMIT);
      for (const path of ['columns?limit=2000', 'columns/a00.c0', 'asset-health-scores', 'asset-health-scores/a00']) {
        const before = clockOf({ mirrored });
        const { body, date } = await served.get(`e1/${path}`);
        expect(clockOf({ mirrored }) > before, path).toBe(true);
        for (const item of (body as Page).items ?? [body as Item]) {
          if ('synced_at' in item) expect(seconds(item['synced_at']) <= seconds(date), path).toBe(true);
          const { total, dimensions = [] } = item as { total?: Item; dimensions?: readonly Item[] };
          for (const part of dimensions) expect(part['score'], path).toBe(total?.['score']);
        }
      }
    },
    { through: (file) => interruptTransactions(file, () => happens()) },
  );
});
