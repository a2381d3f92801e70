import { describe, expect, test } from 'vitest';
import type { PageRequest, Source } from '../../src/core/ports/source.ts';
import type { RecordedRequest } from '../support/api-server.ts';
import { always, answerWith } from './nock-setup.ts';
import { failureOf, refusal } from './setup.ts';

/** Refuses full pages of these lists and answers everything else. */
const refusing = (...refused: string[]) =>
  always(({ target }: RecordedRequest) =>
    refused.some((path) => target.startsWith(`/public/beta/${path}?limit=2000`)) ? refusal() : {},
  );

const list = (path: string): PageRequest => ({ path: path.split('/'), query: { limit: 2000 }, cursor: null });

/** How each call ended; with `isSequential`, they run one at a time. */
async function outcomes(source: Source, paths: readonly string[], isSequential: boolean): Promise<string[]> {
  const ends: Promise<string>[] = [];
  for (const path of paths) {
    const end = source.page(list(path)).then(
      () => 'answered',
      (error: { recovery: string }) => error.recovery,
    );
    ends.push(end);
    if (isSequential) await end;
  }
  return Promise.all(ends);
}

describe('a list that is refused while others answer', () => {
  test.each([
    ['in flight together', false, 4],
    ['one in flight at a time', false, 1],
    ['requested one after the other', true, 1],
  ])('it fails like a list that answers 500, and delays no other list: %s (R9)', async (_, apart, concurrency) => {
    const { source } = answerWith([refusing('e1/assets')], { concurrency, maxWaitMs: 8000 });
    const ends = await outcomes(source, ['e1/assets', 'e1/columns', 'e2/assets', 'e2/columns'], apart);
    expect(ends).toEqual(['stream', 'answered', 'answered', 'answered']);
  });

  test('several refused lists fail, and the others are answered (R9)', async () => {
    const { source } = answerWith([refusing('e1/assets', 'e2/assets', 'e1/columns')], { maxWaitMs: 8000 });
    const ends = await outcomes(source, ['e1/assets', 'e2/assets', 'e1/columns', 'e2/columns'], false);
    expect(ends).toEqual(['stream', 'stream', 'stream', 'answered']);
  });

  test('it has all its attempts, and every refusal still pauses the account (R9)', async () => {
    const { requests, source, time } = answerWith([refusing('e1/assets')], { retries: 2 });
    const failure = await failureOf(source.page(list('e1/assets')));
    expect(failure.message).toContain('/e1/assets: answered 429 while other lists succeeded, after 3 tries.');
    const own = requests.filter(({ target }) => target.includes('/e1/assets?limit=2000'));
    // After two refusals it is not clear yet whether the account or the list is refused. The other three are failed
    // tries.
    expect([own.length, time.slept]).toEqual([5, [1000, 1000, 1000, 1000]]);
  });

  test('a request for one row of another list tells whether the list or the account is refused (R9)', async () => {
    const { requests, source } = answerWith([refusing('e1/assets')], { retries: 0 });
    await failureOf(source.page(list('e1/assets')));
    expect(requests.map(({ target }) => target.slice('/public/beta/'.length))).toEqual([
      'e1/assets?limit=2000',
      'e1/assets?limit=2000',
      'e1/assets?limit=1',
      'e1/assets?limit=2000',
    ]);
  });

  test('a failed probe is a failed attempt (R9)', async () => {
    const { source } = answerWith([refusal(), refusal(), always({ status: 502 })], { retries: 1 });
    expect((await failureOf(source.page(list('e1/assets')))).recovery).toBe('stream');
  });
});

test('no attempt is used up while everything is refused, and the run ends after the longest wait (R23)', async () => {
  const { source, time } = answerWith([{ body: [{ id: 'e1' }] }, always(refusal('2'))], {
    retries: 0,
    maxWaitMs: 20_000,
  });
  await source.environments();
  const ends = await outcomes(source, ['e1/assets', 'e1/columns', 'e1/tests'], false);
  expect(ends).toEqual(['quota', 'quota', 'quota']);
  expect(time.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(20_000);
});
