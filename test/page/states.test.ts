import { describe, expect, test } from 'vitest';
import { findViolations, overflowOf } from './axe.ts';
import { type TabOptions, useBrowser } from './browser.ts';
import { failingNow, failingSubTest, mirrorTrust, NOW } from './fixture-answers.ts';
import { assetDetail } from './fixture-lineage.ts';
import { type FixtureReplies, type FixtureReply, serveFixture } from './fixture-server.ts';

const openTab = useBrowser();

const MIRROR: FixtureReply = { body: mirrorTrust(), headers: { etag: 'W/"1"' } };
const FAILING: FixtureReply = { body: failingNow([failingSubTest('orders_unique')]), headers: { etag: 'W/"2"' } };
const refusal = (status: number, message: string, headers = {}): FixtureReply => ({
  status,
  headers,
  body: { error: { code: 'x', message } },
});

/** The page over fixed answers. */
async function open(replies: FixtureReplies = {}, path = '', options: TabOptions = {}) {
  const server = await serveFixture({ mirror: MIRROR, 'environments/prod/failing': FAILING, ...replies });
  const opened = await openTab(`${server.url}/${path}`, { time: NOW, ...options });
  return { ...opened, server };
}

describe('the answer if no test fails', () => {
  test.each([
    ['good', 3, 0, 'No test fails: the latest result of every test that you can see is PASS.'],
    ['good', 3, 1, 'No test fails; 1 test has no verdict, because it was skipped, had no data or never ran.'],
    [
      'neutral',
      0,
      2,
      'No test fails, but none has passed either: 2 tests have no verdict, because they were skipped, had no data or never ran.',
    ],
    ['neutral', 0, 0, 'No test fails: you can see no enabled test here.'],
  ])('it is %s with %i passed tests and %i without a verdict', async (level, passed, without_verdict, text) => {
    const body = failingNow([], { passed, without_verdict });
    const { page } = await open({ 'environments/prod/failing': { body } }, '#/failing?env=prod');
    const answer = page.locator('main .notice');
    expect(await answer.innerText()).toContain(text);
    expect(await answer.getAttribute('class')).toContain(level);
  });
});

describe('the token of the page', () => {
  test('the page prompts for a token when the server requires one, keeps it in the tab and sends it as a bearer token', async () => {
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

  test('the page prompts for a token when the shared quota of clients without one is used up', async () => {
    const { page, server } = await open({ mirror: refusal(429, 'Too many requests', { 'retry-after': '40' }) });
    await page.getByLabel('Token').fill('secret');
    server.replies.set('mirror', MIRROR);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
  });

  test('a token in the address is adopted and removed from the address', async () => {
    const { page, server } = await open({}, '#token=a%2Bb');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    expect(server.asked.map(({ authorization }) => authorization)).toEqual(['Bearer a+b']);
    expect(page.url()).toBe(`${server.url}/`);
  });

  test('a link replaces the token only after confirmation', async () => {
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
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Use the link’s token' }).click();
    await expect.poll(() => server.asked.at(-1)?.authorization).toBe('Bearer theirs');
  });

  test.each([null, 'streams', 'assets'] as const)(
    'the head says that the token sees part of the mirror if it is limited: %s',
    async (limited_to) => {
      const { page } = await open({ mirror: { body: mirrorTrust({ limited_to }) } }, '#/failing');
      await page.getByText('orders_unique').first().waitFor();
      const told = await page.locator('header').getByText('Your token sees part of this mirror.').count();
      expect(told).toBe(limited_to === null ? 0 : 1);
      expect(await findViolations(page)).toEqual([]);
    },
  );

  test('forgetting the token also removes all data that it has fetched', async () => {
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
  test('invisible and bidirectional characters of a name are drawn as code points', async () => {
    const name = 'orders\u202Eeuqinu\u200B';
    const { page } = await open(
      { 'environments/prod/failing': { body: failingNow([failingSubTest(name)]) } },
      '#/failing',
    );
    await page.getByText('orders[U+202E]euqinu[U+200B]').first().waitFor();
    expect(await page.locator('body').innerText()).not.toMatch(/[\u202E\u200B]/);
  });

  test('only the first page of the failing tests names the worst of them', async () => {
    const body = { ...failingNow([failingSubTest('orders_unique')]), total: 150 };
    const { page } = await open({ 'environments/prod/failing': { body } }, '#/failing');
    await page.getByText('150 tests fail. The worst: orders_unique').waitFor();
    await page.evaluate("location.hash = '#/failing?from=100'");
    await page.getByText('150 tests fail.', { exact: true }).waitFor();
  });

  test('the health chart shows the total and the weakest dimensions', async () => {
    const days = ['2026-11-19', '2026-11-20'];
    const group = {
      ...{ name: null, run_count: [1, 1], pass_rate: [1, 1], incidents_opened: [0, 0], incidents_resolved: [0, 0] },
      ...{ open_count: 0, mean_hours_to_resolve: null },
    };
    const dimensions = ['accuracy', 'completeness', 'consistency', 'freshness', 'total', 'uniqueness', 'validity'];
    const health = dimensions.map((dimension) => ({
      dimension,
      scores: [0.9, dimension === 'validity' ? 0.01 : 0.99],
    }));
    const body = { days, groups: [group], health, cut: false };
    const { page } = await open({ 'environments/prod/trends': { body } }, '#/trends');
    const legend = page.getByRole('figure').filter({ hasText: 'Health' }).getByRole('listitem');
    await legend.first().waitFor();
    expect((await legend.allInnerTexts()).map((text) => text.trim().split(/\s/)[0])).toEqual([
      ...['total', 'validity', 'accuracy', 'completeness', 'consistency', 'freshness'],
    ]);
  });

  test('a view that the token has no access to says so in one line', async () => {
    const { page } = await open(
      { 'environments/prod/failing': refusal(403, 'The token lacks the scope tests') },
      '#/failing',
    );
    await page.getByText('Your token has no access to this. The token lacks the scope tests.').waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
  });

  test('the page refreshes every 15 seconds, and changes nothing if the mirror has not changed', async () => {
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

  test('the page sends no requests while its tab is hidden', async () => {
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

  test('while rate-limited, the page keeps its data, says so, and retries after the wait', async () => {
    const { page, server } = await open({}, '#token=secret');
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    server.replies.set('mirror', refusal(429, 'Too many requests', { 'retry-after': '40' }));
    await page.clock.runFor(16_000);
    await page.getByText('Too many requests. Retrying in 40 s.').waitFor();
    expect(await page.getByRole('heading', { name: 'Production' }).count()).toBe(1);
    const before = server.asked.length;
    await page.clock.runFor(38_000);
    expect(server.asked.length).toBe(before);
    server.replies.set('mirror', MIRROR);
    await page.clock.runFor(3_000);
    await page.getByText('Too many requests').waitFor({ state: 'detached' });
  });

  test('the page says that the server is not responding, and recovers when it responds', async () => {
    const { page, server } = await open();
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    await page.context().setOffline(true);
    await page.clock.runFor(16_000);
    await page.getByText('The server is not responding').waitFor();
    await page.context().setOffline(false);
    await page.clock.runFor(6_000);
    await page.getByText('The server is not responding').waitFor({ state: 'detached' });
    expect(server.asked.length).toBeGreaterThan(1);
  });
});

describe('names from the service in the failing view', () => {
  const HOSTILE = '<img src=x onerror="window.hurt=true"><script>window.hurt=true</script>';
  const hostile = failingSubTest(HOSTILE, {
    asset: { id: 'a', name: HOSTILE, kind: HOSTILE },
    owners: [HOSTILE],
    test_type: HOSTILE,
    result_reason: HOSTILE,
    exception: HOSTILE,
    history: [{ start_time: NOW, status: HOSTILE }],
  });

  test('they are shown as text, whatever they contain', async () => {
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

  test.each([375, 800, 1120])('10,000 characters do not break the layout at %i pixels', async (width) => {
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

/** Answers of the other views, with this text in place of every name. */
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

describe('names from the service in the other views', () => {
  test.each([375, 800, 1120])('10,000 characters do not break the layout at %i pixels', async (width) => {
    const { page } = await open(answersNaming('x'.repeat(10_000)), '', { viewport: { width, height: 700 } });
    for (const place of PLACES_OF_NAMES) {
      await page.goto(page.url().replace(/(#.*)?$/, place));
      await expect.poll(() => page.getByText('Loading …').count()).toBe(0);
      expect({ place, overflow: await overflowOf(page) }).toEqual({ place, overflow: 0 });
    }
  });

  test('they are shown as text, whatever they contain', async () => {
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

describe.each(['light', 'dark'] as const)('accessibility in %s colours', (colorScheme) => {
  test.each([375, 1280])('axe finds no violations at %i pixels', async (width) => {
    const { page } = await open({}, '#/failing', { colorScheme, viewport: { width, height: 800 } });
    await page.locator('button.disclose').click();
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Trust' }).click();
    await page.getByRole('heading', { name: 'Production' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });
});
