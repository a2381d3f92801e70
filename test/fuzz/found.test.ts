import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decodePage } from '../../src/core/decode/decode.ts';
import { SyncError } from '../../src/core/errors.ts';
import { httpDateMs } from '../../src/core/quota/retry-delay.ts';
import { folder, obsync, TOKEN } from '../cli/setup.ts';
import { streamOf } from '../core/setup.ts';
import { furnish } from '../model/furnish.ts';
import { createTestMirror } from '../model/test-mirror.ts';
import { createWorld } from '../model/world.ts';
import { ASSETS, failureOf, setUp } from '../source/setup.ts';

const column = { id: 'c', asset_id: 'a', name: 'n', data_type: 'int', synced_at: null };

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

test('a key with an unpaired surrogate is rejected, because SQLite would store two such keys as one (R20)', () => {
  const { rows, rejected } = decodePage(streamOf('columns'), [
    { ...column, id: 'x\ud800' },
    { ...column, id: 'x\ud801' },
  ]);
  expect([rows, rejected.map(({ reason }) => reason)]).toEqual([
    [],
    Array(2).fill('the key holds half of a surrogate pair'),
  ]);
});

test('an unpaired surrogate in a text becomes U+FFFD (R19)', () => {
  const { rows } = decodePage(streamOf('columns'), [{ ...column, data_type: 'x\ud800' }]);
  expect(rows[0]?.row).toMatchObject({ data_type: 'x\ufffd', extra: null });
});

test('a number too large for a double is rejected in a required field (R20)', () => {
  const total = JSON.parse('{"score":1e400,"test_count":1,"bucket_at":"2026-11-20T04:00:00"}');
  const { rejected } = decodePage(streamOf('asset_health_scores'), [{ asset_id: 'a', total, dimensions: [] }]);
  expect(rejected).toMatchObject([{ key: ['a'], reason: 'score is not a number' }]);
});

test.each([901, 1001, 100_000])(
  'an item nested %i levels deep is rejected, and most of its payload is kept (R20)',
  (levels) => {
    const { rows, rejected } = decodePage(streamOf('columns'), [{ ...column, more: nested(levels - 1) }, column]);
    expect(rows).toHaveLength(1);
    expect(rejected).toMatchObject([{ key: ['c'], reason: 'nested deeper than 900 levels' }]);
    expect(JSON.parse(rejected[0]?.payload ?? '')).toMatchObject({ id: 'c', more: '(nested too deeply)' });
  },
);

test('the most deeply nested values that are accepted can be read with SQL', async () => {
  const world = createWorld();
  furnish(world.environment());
  const mirrored = createTestMirror(world);
  try {
    world.transformPage = (page, { path }) =>
      path.endsWith('/assets')
        ? {
            ...page,
            items: [...page.items].map((item) => ({ ...(item as object), tags: nested(899), odd: nested(899) })),
          }
        : page;
    expect((await mirrored.sync()).status).toBe('done');
    expect(mirrored.rows('select count(*) n from asset_tags')).toEqual([{ n: 5 }]);
    expect(mirrored.rows("select count(*) n from assets where extra ->> '$.odd' is not null")).toEqual([{ n: 1 }]);
  } finally {
    mirrored.close();
  }
});

test.each(['Sat, 13 Sep 275760 00:00:00 GMT', 'Fri, 20 Nov 10000 04:10:00 GMT', 'Mon, 1', 'Fri, 20 Nov 2026'])(
  '%s is not an HTTP date (R1)',
  (text) => {
    expect(httpDateMs(text)).toBeNull();
  },
);

test.each(['Fri, 31 Dec 9999 23:59:59 GMT', 'Sat, 13 Sep 275760 00:00:00 GMT'])(
  'a Retry-After of %s ends the run cleanly (R23)',
  async (after) => {
    const headers = { date: 'Thu, 01 Jan 1970 00:00:00 GMT', 'retry-after': after };
    const { source } = await setUp([{ status: 429, headers }]);
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('quota');
  },
);

test('an error message is one line, whatever it quotes', () => {
  expect(new SyncError('usage', 'a\r\nb\u2028c\u001b[31m does not exist').message).toBe('a b c [31m does not exist');
});

test('a schedule creates no lock file beside a file that is not a mirror', async () => {
  const cwd = folder();
  writeFileSync(join(cwd, 'notes.txt'), 'no mirror');
  const words = ['schedule', '--base-url', 'http://127.0.0.1:1', '--db', 'notes.txt'];
  const { code, stderr } = await obsync(words, { cwd, env: { OBSYNC_TOKEN: TOKEN } });
  expect([code, stderr]).toEqual([2, expect.stringContaining('is not an SQLite file')]);
  expect(readdirSync(cwd)).toEqual(['notes.txt']);
});
