import { describe, expect, test } from 'vitest';
import type { PageRequest, Source } from '../../src/core/source.ts';
import type { Reply, ScriptedStep } from '../support/api-server.ts';
import { failureOf, setUp } from './setup.ts';

const refusal = (after = '1'): Reply => ({ status: 429, headers: { 'retry-after': after } });

/** Everything answers but what lies under these paths. */
const refusing =
  (...refused: string[]): ScriptedStep =>
  ({ target }) =>
    refused.some((path) => target.startsWith(`/public/beta/${path}?limit=2000`)) ? refusal() : {};

const list = (path: string): PageRequest => ({ path: path.split('/'), query: { limit: 2000 }, cursor: null });

/** What became of the pages, one after the other where `apart`. */
async function outcomes(source: Source, paths: readonly string[], apart: boolean): Promise<string[]> {
  const ends: Promise<string>[] = [];
  for (const path of paths) {
    const end = source.page(list(path)).then(
      () => 'answered',
      (error: { recovery: string }) => error.recovery,
    );
    ends.push(end);
    if (apart) await end;
  }
  return Promise.all(ends);
}

describe('a list that is refused while others answer (R9)', () => {
  test.each([
    ['in flight together', false, 4],
    ['one in flight at a time', false, 1],
    ['asked for one after the other', true, 1],
  ])('fails like any other, and starves nobody, %s', async (_, apart, concurrency) => {
    const { source } = await setUp([refusing('e1/assets')], { concurrency, maxWaitMs: 8000 });
    const ends = await outcomes(source, ['e1/assets', 'e1/columns', 'e2/assets', 'e2/columns'], apart);
    expect(ends).toEqual(['stream', 'answered', 'answered', 'answered']);
  });

  test('several of them as well', async () => {
    const { source } = await setUp([refusing('e1/assets', 'e2/assets', 'e1/columns')], { maxWaitMs: 8000 });
    const ends = await outcomes(source, ['e1/assets', 'e2/assets', 'e1/columns', 'e2/columns'], false);
    expect(ends).toEqual(['stream', 'stream', 'stream', 'answered']);
  });

  test('has its tries, and every refusal still pauses the account', async () => {
    const { server, source, time } = await setUp([refusing('e1/assets')], { retries: 2 });
    const failure = await failureOf(source.page(list('e1/assets')));
    expect(failure.message).toContain('/e1/assets: answered 429 while other lists answer, after 3 tries.');
    const own = server.requests.filter(({ target }) => target.includes('/e1/assets?limit=2000'));
    // Two that leave it open who is refused, and three that do not.
    expect([own.length, time.slept]).toEqual([5, [1000, 1000, 1000, 1000]]);
  });

  test('is told apart by a request for one row of another list', async () => {
    const { server, source } = await setUp([refusing('e1/assets')], { retries: 0 });
    await failureOf(source.page(list('e1/assets')));
    expect(server.requests.map(({ target }) => target.slice('/public/beta/'.length))).toEqual([
      'e1/assets?limit=2000',
      'e1/assets?limit=2000',
      'e1/assets?limit=1',
      'e1/assets?limit=2000',
    ]);
  });

  test('a probe that fails is a failed try', async () => {
    const { source } = await setUp([refusal(), refusal(), { status: 502 }], { retries: 1 });
    expect((await failureOf(source.page(list('e1/assets')))).recovery).toBe('stream');
  });
});

test('while everything is refused no try is used up, and the run ends after the longest wait (R23)', async () => {
  const { source, time } = await setUp([{ body: [{ id: 'e1' }] }, refusal('2')], { retries: 0, maxWaitMs: 20_000 });
  await source.environments();
  const ends = await outcomes(source, ['e1/assets', 'e1/columns', 'e1/tests'], false);
  expect(ends).toEqual(['quota', 'quota', 'quota']);
  expect(time.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(20_000);
});
