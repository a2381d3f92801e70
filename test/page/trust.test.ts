import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { MirrorTrust } from '../../src/page-data/page-data.ts';
import { startBrowser, type TestBrowser } from './browser.ts';
import { failingNow, failingSubTest, mirrorTrust, NOW, streamTrust } from './fixture-answers.ts';
import { serveFixture } from './fixture-server.ts';

let browser: TestBrowser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** The page over a mirror of which this is told. */
async function open(mirror: MirrorTrust, path = '') {
  const server = await serveFixture({
    mirror: { body: mirror },
    'environments/prod/failing': { body: failingNow([failingSubTest('orders_unique')]) },
    'environments/staging/failing': { body: failingNow([failingSubTest('staged_unique')]) },
  });
  onTestFinished(() => server.close());
  const opened = await browser.open(`${server.url}/${path}`, { time: NOW });
  await opened.page.locator('main .notice, main table').first().waitFor();
  return { ...opened, server };
}

const [PROD, STAGING] = mirrorTrust().environments;
if (PROD === undefined || STAGING === undefined) throw new Error('the made-up mirror has two environments');

const UNTOLD = {
  ...{ rows: null, mode: null, reason: null, status: null, error: null, ended_at: null },
  ...{ held_count: null, rejected_count: null, gap_count: null },
};
const UNTOLD_WHOLE = { last_run: null, last_verify: null, quota: null };
const WELL = [{ ...PROD, streams: [streamTrust('assets'), streamTrust('tests')] }];

describe('the answer whether a mirror can be trusted', () => {
  test('is yes only of what is told', async () => {
    const { page } = await open(mirrorTrust({ environments: WELL }));
    expect(await page.locator('main .notice').innerText()).toMatch(/^Yes: every stream below was read to its end/);
  });

  test('says no more than is known to a token of some assets', async () => {
    const environments = [{ ...PROD, streams: [streamTrust('assets', UNTOLD)] }];
    const { page } = await open(mirrorTrust({ ...UNTOLD_WHOLE, limited_to: 'assets', environments }));
    expect(await page.locator('main .notice').innerText()).toMatch(
      /^Every stream below was complete within the last day/,
    );
    const facts = await page.locator('.facts dd').allInnerTexts();
    expect(facts).toEqual(['not told', 'not told', 'not told']);
    expect(await page.locator('main').innerText()).not.toMatch(/Yes|no sync yet|held back/);
    expect(await page.locator('main .icon.good').count()).toBe(0);
  });

  test('is with care to such a token when a stream is not complete', async () => {
    const streams = [streamTrust('assets', { ...UNTOLD, complete_at: '2026-11-18T12:00:00.000000Z' })];
    const { page } = await open(
      mirrorTrust({ limited_to: 'assets', last_run: null, environments: [{ ...PROD, streams }] }),
    );
    await page.getByText('With care: 1 thing to look at').waitFor();
  });

  test('is not given to a token that sees no stream', async () => {
    const { page } = await open(
      mirrorTrust({ ...UNTOLD_WHOLE, limited_to: 'streams', environments: [{ ...PROD, streams: [] }] }),
    );
    expect(await page.locator('main .notice').first().innerText()).toBe('Your token sees no stream of this mirror.');
    expect(await page.locator('main .icon.good').count()).toBe(0);
  });
});

describe('an environment that the service no longer lists', () => {
  const gone = { ...STAGING, missing_since: '2026-11-19T08:30:00.000000Z', has_views: false };
  const third = { ...STAGING, env_id: 'third', name: 'Third' };
  const MIRROR = mirrorTrust({ environments: [gone, PROD, third] });

  test('stands in the first view, with the time since when', async () => {
    const { page } = await open(MIRROR);
    await page.getByText('No longer listed since 2026-11-19 08:30 UTC: its rows stay in the mirror.').waitFor();
  });

  test('is not offered, and is not what the other views begin with', async () => {
    const { page } = await open(MIRROR, '#/failing');
    await page.getByText('orders_unique').first().waitFor();
    expect(await page.getByLabel('Environment').locator('option').allInnerTexts()).toEqual(['Production', 'Third']);
  });

  test('is named in words where an address names it, and one can choose another', async () => {
    const { page, server } = await open(mirrorTrust({ environments: [gone, PROD] }), '#/failing?env=staging');
    expect(await page.locator('main .notice').innerText()).toBe(
      'Staging is no longer listed since 2026-11-19 08:30 UTC. Its rows stay in the mirror: obsync report --env staging shows them.',
    );
    expect(server.asked.map(({ path }) => path)).toEqual(['mirror']);
    await page.getByLabel('Environment').selectOption('Production');
    await page.getByText('orders_unique').first().waitFor();
    expect(await page.getByLabel('Environment').count()).toBe(0);
  });

  test('is shown where the data are there, as in a report that was asked for it', async () => {
    const { page } = await open(mirrorTrust({ environments: [{ ...gone, has_views: true }] }), '#/failing');
    await page.getByText('staged_unique').first().waitFor();
  });

  test('that is the only one leaves the other views with these words', async () => {
    const { page } = await open(mirrorTrust({ environments: [gone] }), '#/trends');
    await page.getByText('The service no longer lists any environment that your token sees.').waitFor();
  });
});
