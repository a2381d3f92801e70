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
    return keep();
  };
  /** The number of rows that it removes and writes. */
  const keep = () => {
    const changes = connection.prepare('select total_changes()').pluck();
    const before = Number(changes.get());
    keepHealthMeans(connection);
    return Number(changes.get()) - before;
  };
  const remove = (id: string, at: string) =>
    connection.prepare('update assets set deleted_at = @at, mirrored_at = @at where id = @id').run({ id, at });
  const kept = () =>
    connection.prepare('select day, dimension, score, asset_count from asset_health_means order by 1, 2').all();
  const viewed = () =>
    connection
      .prepare(
        'select day, dimension, avg(score) as score, count(*) as asset_count from health_daily group by 1, 2 order by 1, 2',
      )
      .all();
  return { connection, place, keep, remove, kept, viewed };
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

  test('are kept for all days of a list or for none, so that the next run makes up for one that ended between two days', () => {
    const { connection, place, keep, kept, viewed } = mirror();
    connection.exec(`create temp trigger fail before insert on asset_health_means when new.day = '2026-11-11'
      begin select raise(abort, 'the disk is full'); end`);
    const list = {
      a: ['2026-11-10T08:00:00.000000Z', 0.5],
      b: ['2026-11-11T08:00:00.000000Z', 1],
    } as const;
    expect(() => place('2026-11-11T09:00:00.000000Z', list)).toThrow('the disk is full');
    expect(kept()).toEqual([]);
    connection.exec('drop trigger fail');
    keep();
    expect(kept()).toHaveLength(4);
    expect(kept()).toEqual(viewed());
  });

  test('are worked out only when a score has changed', () => {
    const { place } = mirror();
    const scores = { a: ['2026-11-10T08:00:00.000000Z', 0.5] } as const;
    expect(place('2026-11-10T09:00:00.000000Z', scores)).toBe(2);
    expect(place('2026-11-10T09:00:00.000000Z', scores)).toBe(0);
    // The two that were kept make room for the two new ones.
    expect(place('2026-11-10T10:00:00.000000Z', scores)).toBe(4);
  });

  test('are kept for every day that is in the list of scores, as the history has them', () => {
    const { place, kept, viewed } = mirror();
    place('2026-11-11T01:00:00.000000Z', {
      a: ['2026-11-11T00:00:00.000000Z', 0.25],
      b: ['2026-11-10T22:00:00.000000Z', 0.5],
    });
    expect(kept().map((row) => (row as { day: string }).day)).toEqual(
      ['10', '10', '11', '11'].map((day) => `2026-11-${day}`),
    );
    expect(kept()).toEqual(viewed());
    // The later score of one asset leaves its earlier one to the other day.
    place('2026-11-11T02:00:00.000000Z', {
      a: ['2026-11-11T00:00:00.000000Z', 0.25],
      b: ['2026-11-11T01:00:00.000000Z', 1],
    });
    expect(kept()).toHaveLength(4);
    expect(kept()).toEqual(viewed());
  });

  test('leave out an asset from the moment it is deleted, without a new score', () => {
    const { place, keep, remove, kept, viewed } = mirror();
    place('2026-11-10T09:00:00.000000Z', {
      a: ['2026-11-10T08:00:00.000000Z', 0.25],
      b: ['2026-11-10T08:00:00.000000Z', 0.75],
    });
    remove('b', '2026-11-10T09:30:00.000000Z');
    expect([keep(), keep()]).toEqual([4, 0]);
    expect(kept()).toMatchObject([{ score: 0.125 }, { score: 0.25, asset_count: 1 }]);
    expect(kept()).toEqual(viewed());
    remove('a', '2026-11-10T09:40:00.000000Z');
    keep();
    expect([kept(), viewed()]).toEqual([[], []]);
  });

  test('of an earlier day stay as they were kept last', () => {
    const { place, keep, remove, kept } = mirror();
    place('2026-11-10T23:30:00.000000Z', { a: ['2026-11-10T23:00:00.000000Z', 1] });
    place('2026-11-11T01:00:00.000000Z', { b: ['2026-11-11T00:00:00.000000Z', 0.5] });
    remove('a', '2026-11-11T02:00:00.000000Z');
    expect(keep()).toBe(0);
    expect(kept()).toMatchObject([{ day: '2026-11-10' }, { score: 1 }, { day: '2026-11-11' }, { score: 0.5 }]);
  });
});
