import { describe, expect, onTestFinished, test } from 'vitest';
import { keepHealthMeans } from '../../src/destination/sqlite/health-means.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';

function mirror() {
  const { connection } = openForWriting(':memory:');
  onTestFinished(() => void connection.close());
  const asset = connection.prepare(`insert into assets (env_id, id, deleted_at, mirrored_at) values ('e', ?, ?, '')`);
  for (const [id, deletedAt] of [
    ['a', null],
    ['b', null],
    ['gone', '2026-11-01T00:00:00.000000Z'],
  ] as const)
    asset.run(id, deletedAt);
  /** A list of scores that a run has put in place, and what the history has of it. */
  const place = (at: string, scores: Readonly<Record<string, readonly [bucket: string, score: number]>>) => {
    connection.exec('delete from asset_health_scores; delete from asset_health_score_dimensions');
    for (const [id, [bucket, score]] of Object.entries(scores)) {
      const values = { id, bucket, score, at };
      for (const into of [
        `asset_health_scores (env_id, asset_id, score, test_count, bucket_at, mirrored_at) values ('e', @id, @score, 1, @bucket, @at)`,
        `asset_health_score_dimensions (env_id, asset_id, dimension, score, test_count, bucket_at, mirrored_at)
          values ('e', @id, 'accuracy', @score / 2, 1, @bucket, @at)`,
        `asset_health_score_history (env_id, asset_id, dimension, score, test_count, bucket_at, mirrored_at)
          values ('e', @id, 'total', @score, 1, @bucket, @at), ('e', @id, 'accuracy', @score / 2, 1, @bucket, @at)`,
      ])
        connection.prepare(`insert or replace into ${into}`).run(values);
    }
    const before = connection.prepare('select total_changes()').pluck().get();
    keepHealthMeans(connection);
    return Number(connection.prepare('select total_changes()').pluck().get()) - Number(before);
  };
  const kept = () =>
    connection.prepare('select day, dimension, score, asset_count from asset_health_means order by 1, 2').all();
  const viewed = () =>
    connection
      .prepare(
        'select day, dimension, avg(score) as score, count(*) as asset_count from health_daily group by 1, 2 order by 1, 2',
      )
      .all();
  return { place, kept, viewed };
}

describe('the mean scores of a day', () => {
  test('are those of the last buckets of all live assets, as the history has them', () => {
    const { place, kept, viewed } = mirror();
    place('2026-11-10T09:00:00.000000Z', {
      a: ['2026-11-10T08:00:00.000000Z', 0.5],
      gone: ['2026-11-10T08:00:00.000000Z', 1],
    });
    expect(kept()).toMatchObject([
      { dimension: 'accuracy', score: 0.25 },
      { dimension: 'total', score: 0.5, asset_count: 1 },
    ]);
    place('2026-11-10T23:30:00.000000Z', {
      a: ['2026-11-10T23:00:00.000000Z', 1],
      b: ['2026-11-10T22:00:00.000000Z', 0.5],
    });
    place('2026-11-11T01:00:00.000000Z', {
      a: ['2026-11-11T00:00:00.000000Z', 0.25],
      b: ['2026-11-10T22:00:00.000000Z', 0.5],
    });
    expect(kept()).toHaveLength(4);
    expect(kept()).toEqual(viewed());
  });

  test('are worked out only when a score has changed', () => {
    const { place } = mirror();
    const scores = { a: ['2026-11-10T08:00:00.000000Z', 0.5] } as const;
    expect(place('2026-11-10T09:00:00.000000Z', scores)).toBe(2);
    expect(place('2026-11-10T09:00:00.000000Z', scores)).toBe(0);
    expect(place('2026-11-10T10:00:00.000000Z', scores)).toBe(2);
  });
});
