import { expect, test } from 'vitest';
import { DEFAULT_PARAMETERS, TREND_DAYS } from '../../src/page-data/default-parameters.ts';
import { recordAnswers } from '../../src/page-data/record-answers.ts';
import { TEST_GROUPINGS } from '../../src/page-data/test-groups.ts';
import { trends } from '../../src/page-data/trends.ts';
import { pageEndpoints } from '../../src/server/page-endpoints.ts';
import { NOW } from '../server/fixture.ts';
import { mirrorOf, reportOf } from './setup.ts';

function reportIn({ seen }: ReturnType<typeof mirrorOf>) {
  return reportOf(seen(({ reads }) => recordAnswers(reads, null, NOW)).answers);
}

test('the endpoints of the page default to the shared default parameters', () => {
  const endpoints = pageEndpoints().map(({ path, query }) => ({ view: path.at(-1), query }));
  const defaults = endpoints.flatMap(({ view, query }) =>
    Object.entries(query?.properties ?? {}).flatMap(([parameter, schema]) =>
      schema.default === undefined ? [] : [{ view, parameter, value: schema.default }],
    ),
  );
  expect(defaults.length).toBeGreaterThan(8);
  for (const { view, parameter, value } of defaults)
    if (view !== 'neighbours' || parameter !== 'limit')
      expect([view, parameter, value]).toEqual([
        view,
        parameter,
        DEFAULT_PARAMETERS[parameter as keyof typeof DEFAULT_PARAMETERS],
      ]);
});

test('a report gives the same answer with and without default parameters', async () => {
  const ask = reportIn(mirrorOf());
  const questions = [
    ['failing', {}, { limit: '100', offset: '0' }],
    ['untested', {}, { limit: '100', offset: '0', all: 'false' }],
    ['trends', { by: 'owner' }, { by: 'owner', days: '30' }],
    ['node', { id: 'm1' }, { id: 'm1', of: 'assets' }],
    ['columns', { asset_id: 'm1' }, { asset_id: 'm1', offset: '0' }],
  ] as const;
  for (const [name, short, long] of questions) {
    const answer = await ask(name, short);
    expect(answer, name).toBeDefined();
    expect([name, await ask(name, long)]).toEqual([name, answer]);
  }
});

test('a report contains the trends of every period and grouping that the page offers', async () => {
  const mirror = mirrorOf();
  const ask = reportIn(mirror);
  for (const days of TREND_DAYS)
    for (const by of [null, ...TEST_GROUPINGS]) {
      const expected = mirror.seen((scope) => trends(scope, { by, days }, NOW));
      expect(await ask('trends', { days: String(days), ...(by === null ? {} : { by }) })).toEqual(expected);
    }
});
