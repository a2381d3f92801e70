import { describe, expect, test } from 'vitest';
import type { MirrorTrust } from '../../src/page-data/page-data.ts';
import { useBrowser } from './browser.ts';
import { failingNow, failingSubTest, mirrorTrust, NOW, streamTrust } from './fixture-answers.ts';
import { serveFixture } from './fixture-server.ts';

const openTab = useBrowser();

/** The page over a mirror with this trust data. */
async function open(mirror: MirrorTrust, path = '') {
  const server = await serveFixture({
    mirror: { body: mirror },
    'environments/prod/failing': { body: failingNow([failingSubTest('orders_unique')]) },
    'environments/staging/failing': { body: failingNow([failingSubTest('staged_unique')]) },
  });
  const opened = await openTab(`${server.url}/${path}`, { time: NOW });
  await opened.page.locator('main .notice, main table').first().waitFor();
  return { ...opened, server };
}

const [PROD, STAGING] = mirrorTrust().environments;
if (PROD === undefined || STAGING === undefined) throw new Error('the made-up mirror has two environments');

const HIDDEN = {
  ...{ rows: null, mode: null, reason: null, status: null, error: null, ended_at: null },
  ...{ held_count: null, rejected_count: null, gap_count: null },
};
const HIDDEN_WHOLE = { last_run: null, last_verify: null, quota: null };
const WELL = [{ ...PROD, streams: [streamTrust('assets'), streamTrust('tests')] }];

describe('the footer', () => {
  const ageAt = async (mirror: MirrorTrust, path: string) =>
    (await open(mirror, path)).page.locator('footer').innerText();

  test.each([
    ['of the selected environment', '#/failing?env=prod', 'Mirror as of 5 min ago.'],
    ['of the one that is furthest behind, where all are shown', '', 'Mirror as of 2 h ago.'],
  ])('it says how old the mirror is, %s, however late the last run ended', async (_, path, text) => {
    expect(await ageAt(mirrorTrust(), path)).toContain(text);
  });

  test('it gives no age before the first sync is complete', async () => {
    const environments = [{ ...PROD, complete_at: null }];
    expect(await ageAt(mirrorTrust({ environments }), '')).toContain('Not every stream was read to its end yet.');
  });
});

describe('the verdict whether a mirror can be trusted', () => {
  test('it is yes if every stream is complete and nothing is held back', async () => {
    const { page } = await open(mirrorTrust({ environments: WELL }));
    expect(await page.locator('main .notice').innerText()).toMatch(
      /^Yes: every stream below was read completely within the last day/,
    );
  });

  test('an environment says which history is pruned, and before which day', async () => {
    const pruned = [{ history: 'test_executions', before: '2026-08-22T11:55:00.000000Z' }];
    const { page } = await open(mirrorTrust({ environments: [{ ...PROD, pruned }] }));
    await page.getByText('test_executions before 2026-08-22 is pruned.').waitFor();
  });

  test('a token limited to some assets gets no verdict beyond completeness', async () => {
    const environments = [{ ...PROD, streams: [streamTrust('assets', HIDDEN)] }];
    const { page } = await open(mirrorTrust({ ...HIDDEN_WHOLE, limited_to: 'assets', environments }));
    expect(await page.locator('main .notice').innerText()).toMatch(
      /^Every stream below was complete within the last day/,
    );
    const facts = await page.locator('.facts dd').allInnerTexts();
    expect(facts).toEqual(['not shown', 'not shown', 'not shown']);
    expect(await page.locator('main').innerText()).not.toMatch(/Yes|no sync yet|held back/);
    expect(await page.locator('main .icon.good').count()).toBe(0);
  });

  test('a token limited to some assets is warned of an incomplete stream', async () => {
    const streams = [streamTrust('assets', { ...HIDDEN, complete_at: '2026-11-18T12:00:00.000000Z' })];
    const { page } = await open(
      mirrorTrust({ limited_to: 'assets', last_run: null, environments: [{ ...PROD, streams }] }),
    );
    await page.getByText('With care: 1 thing to check').waitFor();
  });

  test('a token that sees no stream gets no verdict', async () => {
    const { page } = await open(
      mirrorTrust({ ...HIDDEN_WHOLE, limited_to: 'streams', environments: [{ ...PROD, streams: [] }] }),
    );
    expect(await page.locator('main .notice').first().innerText()).toBe('Your token sees no stream of this mirror.');
    expect(await page.locator('main .icon.good').count()).toBe(0);
  });
});

describe('the page for an environment that the service no longer lists', () => {
  const gone = { ...STAGING, missing_since: '2026-11-19T08:30:00.000000Z', has_views: false };
  const third = { ...STAGING, env_id: 'third', name: 'Third' };
  const MIRROR = mirrorTrust({ environments: [gone, PROD, third] });

  test('the first view shows since when it is missing', async () => {
    const { page } = await open(MIRROR);
    await page.getByText('No longer listed since 2026-11-19 08:30 UTC: its rows stay in the mirror.').waitFor();
  });

  test('it is neither selectable nor the default of the other views', async () => {
    const { page } = await open(MIRROR, '#/failing');
    await page.getByText('orders_unique').first().waitFor();
    expect(await page.getByLabel('Environment').locator('option').allInnerTexts()).toEqual(['Production', 'Third']);
  });

  test('an address that names it says that it is missing and offers the others', async () => {
    const { page, server } = await open(mirrorTrust({ environments: [gone, PROD] }), '#/failing?env=staging');
    expect(await page.locator('main .notice').innerText()).toBe(
      'Staging is no longer listed since 2026-11-19 08:30 UTC. Its rows stay in the mirror: obsync report --env staging shows them.',
    );
    expect(server.asked.map(({ path }) => path)).toEqual(['mirror']);
    await page.getByLabel('Environment').selectOption('Production');
    await page.getByText('orders_unique').first().waitFor();
    expect(await page.getByLabel('Environment').count()).toBe(0);
  });

  test('its views are shown if their data is included, as in a report that selects it', async () => {
    const { page } = await open(mirrorTrust({ environments: [{ ...gone, has_views: true }] }), '#/failing');
    await page.getByText('staged_unique').first().waitFor();
  });

  test('if it is the only environment, the other views say that none is listed', async () => {
    const { page } = await open(mirrorTrust({ environments: [gone] }), '#/trends');
    await page.getByText('The service no longer lists any environment that your token may see.').waitFor();
  });
});
