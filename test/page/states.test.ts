import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findBarriers, overflowOf } from './axe.ts';
import { startBrowser, type TabOptions, type TestBrowser } from './browser.ts';
import { failingNow, failingSubTest, mirrorTrust, NOW } from './fixture-answers.ts';
import { assetDetail } from './fixture-lineage.ts';
import { type FixtureReplies, type FixtureReply, serveFixture } from './fixture-server.ts';

let browser: TestBrowser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const MIRROR: FixtureReply = { body: mirrorTrust(), headers: { etag: 'W/"1"' } };
const FAILING: FixtureReply = { body: failingNow([failingSubTest('orders_unique')]), headers: { etag: 'W/"2"' } };
const refusal = (status: number, message: string, headers = {}): FixtureReply => ({
  status,
  headers,
  body: { error: { code: 'x', message } },
});

/** The page over made-up answers. */
async function open(replies: FixtureReplies = {}, path = '', options: TabOptions = {}) {
  const server = await serveFixture({ mirror: MIRROR, 'environments/prod/failing': FAILING, ...replies });
  onTestFinished(() => server.close());
  const opened = await browser.open(`${server.url}/${path}`, { time: NOW, ...options });
  return { ...opened, server };
}

describe('the token', () => {
  test('is asked for when the server wants one, kept in the tab, and sent as a bearer', async () => {
    const { page, server } = await open({ mirror: refusal(401, 'no token') });
    await page.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('The server does not know this token').waitFor();
    server.replies.set('mirror', MIRROR);
    await page.getByLabel('Token').fill('secret');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    expect(server.asked.map(({ authorization }) => authorization)).toEqual([null, 'Bearer wrong', 'Bearer secret']);
    await page.reload();
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    expect(server.asked.at(-1)?.authorization).toBe('Bearer secret');
  });

  test('is asked for when those without one have used up what they may ask together', async () => {
    const { page, server } = await open({ mirror: refusal(429, 'Too many requests', { 'retry-after': '40' }) });
    await page.getByLabel('Token').fill('secret');
    server.replies.set('mirror', MIRROR);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
  });

  test('is taken over from the address, and removed from it', async () => {
    const { page, server } = await open({}, '#token=a%2Bb');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    expect(server.asked.map(({ authorization }) => authorization)).toEqual(['Bearer a+b']);
    expect(page.url()).toBe(`${server.url}/`);
  });

  test('is not replaced by that of a link without asking', async () => {
    const { page, server } = await open({}, '#token=mine');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    const follow = () => page.evaluate("location.hash = '#token=theirs'");
    await follow();
    await page.getByRole('button', { name: 'Keep my token' }).click();
    await page.getByRole('button', { name: 'Keep my token' }).waitFor({ state: 'detached' });
    expect(page.url()).toBe(`${server.url}/`);
    await page.reload();
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    expect(new Set(server.asked.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer mine']));
    await follow();
    await page.getByRole('button', { name: 'Keep my token' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Use the token of the link' }).click();
    await expect.poll(() => server.asked.at(-1)?.authorization).toBe('Bearer theirs');
  });

  test('is forgotten on request, with all that it has shown', async () => {
    const { page, server } = await open({}, '#token=secret');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    server.replies.set('mirror', refusal(401, 'no token'));
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.locator('body').innerText()).not.toContain('Production');
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });
});

describe('the page', () => {
  test('draws characters of a name that hide or turn around what follows by their numbers', async () => {
    const name = 'orders\u202Eeuqinu\u200B';
    const { page } = await open(
      { 'environments/prod/failing': { body: failingNow([failingSubTest(name)]) } },
      '#/failing',
    );
    await page.getByText('orders[U+202E]euqinu[U+200B]').first().waitFor();
    expect(await page.locator('body').innerText()).not.toMatch(/[\u202E\u200B]/);
  });

  test('says in one line what a token may not see', async () => {
    const { page } = await open(
      { 'environments/prod/failing': refusal(403, 'The token lacks the scope tests') },
      '#/failing',
    );
    await page.getByText('Your token may not see this. The token lacks the scope tests.').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
  });

  test('asks again every 15 seconds, and leaves everything as it is if nothing has changed', async () => {
    const { page, server } = await open({}, '#/failing');
    await page.getByRole('table').waitFor();
    await page.evaluate(`window.changes = 0;
      new MutationObserver((seen) => { window.changes += seen.length; }).observe(document.querySelector('main'),
        { subtree: true, childList: true, attributes: true, characterData: true })`);
    const before = server.asked.length;
    await page.clock.runFor(16_000);
    await expect.poll(() => server.asked.length).toBe(before + 2);
    expect(server.asked.slice(before).map(({ tag }) => tag)).toEqual(['W/"1"', 'W/"2"']);
    expect(await page.evaluate('window.changes')).toBe(0);
    const more = failingNow([failingSubTest('orders_unique'), failingSubTest('late_one')]);
    server.replies.set('environments/prod/failing', { body: more, headers: { etag: 'W/"3"' } });
    await page.clock.runFor(16_000);
    await page.getByText('late_one').waitFor();
  });

  test('asks nothing while its tab is hidden', async () => {
    const { page, server } = await open();
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    const before = server.asked.length;
    const hide = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await hide('hidden');
    await page.clock.runFor(60_000);
    expect(server.asked.length).toBe(before);
    await hide('visible');
    await expect.poll(() => server.asked.length).toBe(before + 1);
  });

  test('keeps what it shows while it has to wait, says so, and asks again when it may', async () => {
    const { page, server } = await open({}, '#token=secret');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    server.replies.set('mirror', refusal(429, 'Too many requests', { 'retry-after': '40' }));
    await page.clock.runFor(16_000);
    await page.getByText('Too many requests. The page asks again in 40 s.').waitFor();
    expect(await page.getByRole('heading', { name: 'Production' }).count()).toBe(1);
    const before = server.asked.length;
    await page.clock.runFor(38_000);
    expect(server.asked.length).toBe(before);
    server.replies.set('mirror', MIRROR);
    await page.clock.runFor(3_000);
    await page.getByText('Too many requests').waitFor({ state: 'detached' });
  });

  test('says that the server is away, and finds it again', async () => {
    const { page, server } = await open();
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    await page.context().setOffline(true);
    await page.clock.runFor(16_000);
    await page.getByText('The server does not answer').waitFor();
    await page.context().setOffline(false);
    await page.clock.runFor(6_000);
    await page.getByText('The server does not answer').waitFor({ state: 'detached' });
    expect(server.asked.length).toBeGreaterThan(1);
  });
});

describe('names of others', () => {
  const HOSTILE = '<img src=x onerror="window.hurt=true"><script>window.hurt=true</script>';
  const hostile = failingSubTest(HOSTILE, {
    asset: { id: 'a', name: HOSTILE, kind: HOSTILE },
    owners: [HOSTILE],
    test_type: HOSTILE,
    result_reason: HOSTILE,
    exception: HOSTILE,
    history: [{ start_time: NOW, status: HOSTILE }],
  });

  test('are text, whatever they hold', async () => {
    const { page, complaints } = await open(
      { 'environments/prod/failing': { body: failingNow([hostile]) } },
      '#/failing',
    );
    await page.getByRole('button', { name: HOSTILE }).click();
    await page.getByText('Sub-test', { exact: true }).waitFor();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.evaluate('window.hurt')).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  test.each([375, 800, 1120])('break no layout of %i pixels with 10,000 characters', async (width) => {
    const long = 'x'.repeat(10_000);
    const asset = { id: 'a', name: long, kind: 'table' };
    const row = failingSubTest(long, {
      asset,
      owners: [long, long],
      exception: long,
      cause: { ...asset, depth: 1, test_id: 't', test_name: long },
    });
    const environments = mirrorTrust().environments.map((each) => ({ ...each, name: long }));
    const replies = {
      mirror: { body: mirrorTrust({ environments }) },
      'environments/prod/failing': { body: failingNow([row]) },
    };
    const { page } = await open(replies, '#/failing', { viewport: { width, height: 700 } });
    await page.locator('button.disclose').click();
    expect(await overflowOf(page)).toBe(0);
    await page.getByRole('link', { name: 'Trust' }).click();
    await page.getByRole('heading', { name: 'Can I trust' }).waitFor();
    expect(await overflowOf(page)).toBe(0);
  });
});

/** Answers of the other views, with this text wherever a name may stand. */
function answersNaming(text: string): FixtureReplies {
  const asset = { id: text, name: text, kind: text };
  const node = { ...asset, upstream_count: 1, downstream_count: 0, status: text, failing_count: 1, asset_id: text };
  const group = {
    name: text,
    run_count: [1, 2],
    pass_rate: [0.5, 1],
    incidents_opened: [1, 0],
    incidents_resolved: [0, 1],
  };
  const counts = { table_count: 2, tested_table_count: 1, column_count: 9, tested_column_count: 1, total: 1 };
  const place = {
    db_name: text,
    schema_name: text,
    owners: [text, text],
    test_count: 0,
    column_count: 3,
    tested_column_count: 0,
  };
  const detail = {
    ...assetDetail(text),
    asset,
    path: text,
    platform: text,
    description: text,
    owners: [text],
    tags: [text],
    url: `https://${text}`,
  };
  const check = {
    test_id: text,
    test_name: text,
    test_type: text,
    severity: text,
    column_name: text,
    status: text,
    start_time: NOW,
  };
  const found = { ...asset, path: text, platform: text };
  const column = { id: text, name: text, data_type: text, tests: 1 };
  return {
    'environments/prod/trends': {
      body: {
        days: ['2026-11-19', '2026-11-20'],
        groups: [{ ...group, open_count: 1, mean_hours_to_resolve: 2 }],
        health: [{ dimension: text, scores: [0.5, 1] }],
        cut: false,
      },
    },
    'environments/prod/untested': {
      body: {
        ...counts,
        rows: [{ asset, ...place, downstream_count: 3, downstream_bi_count: 1, downstream_cut: false }],
      },
    },
    'environments/prod/search': { body: { rows: [found], cut: false } },
    'environments/prod/asset': {
      body: { ...detail, scores: [{ dimension: text, score: 1 }], tests: [check], test_count: 1 },
    },
    'environments/prod/columns': { body: { total: 1, rows: [column] } },
    'environments/prod/node': { body: node },
    'environments/prod/neighbours': { body: { total: 1, rows: [{ ...node, id: `${text}2` }] } },
  };
}

const PLACES_OF_NAMES = ['#/trends', '#/untested', '#/asset?q=x', '#/asset?id=x&node=x&columns=true&column=x'];

describe('names in the other views', () => {
  test.each([375, 800, 1120])('break no layout of %i pixels with 10,000 characters', async (width) => {
    const { page } = await open(answersNaming('x'.repeat(10_000)), '', { viewport: { width, height: 700 } });
    for (const place of PLACES_OF_NAMES) {
      await page.goto(page.url().replace(/(#.*)?$/, place));
      await expect.poll(() => page.getByText('Loading …').count()).toBe(0);
      expect({ place, overflow: await overflowOf(page) }).toEqual({ place, overflow: 0 });
    }
  });

  test('are text, whatever they hold', async () => {
    const { page, complaints } = await open(
      answersNaming('<img src=x onerror="window.hurt=true"><script>window.hurt=true</script>'),
    );
    for (const place of PLACES_OF_NAMES) {
      await page.goto(page.url().replace(/(#.*)?$/, place));
      await expect.poll(() => page.getByText('Loading …').count()).toBe(0);
      expect(await page.locator('main').innerText()).toContain('<img src=x');
      expect(await page.locator('main img, main script').count()).toBe(0);
    }
    expect([await page.evaluate('window.hurt'), complaints]).toEqual([undefined, []]);
  });
});

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test.each([375, 1280])('axe finds nothing at %i pixels', async (width) => {
    const { page } = await open({}, '#/failing', { colorScheme, viewport: { width, height: 800 } });
    await page.locator('button.disclose').click();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'Trust' }).click();
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });
});
