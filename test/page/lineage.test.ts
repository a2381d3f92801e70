import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { findViolations, overflowOf } from './axe.ts';
import { type TabOptions, useBrowser } from './browser.ts';
import { mirrorTrust, NOW } from './fixture-answers.ts';
import { assetDetail, ENDLESS_LINEAGE } from './fixture-lineage.ts';
import { type FixtureReplies, serveFixture } from './fixture-server.ts';

const openTab = useBrowser();

const MIRROR = { body: mirrorTrust(), headers: { etag: 'W/"1"' } };

async function open(path = '#/asset?id=a', more: FixtureReplies = {}, options: TabOptions = {}) {
  const server = await serveFixture({ mirror: MIRROR, ...ENDLESS_LINEAGE, ...more });
  const opened = await openTab(`${server.url}/${path}`, { time: NOW, ...options });
  await opened.page.locator('.node').first().waitFor();
  return { ...opened, server };
}

/** The position of each node in the graph, wherever the view is panned. */
const placesIn = async (page: Page): Promise<Record<string, string>> =>
  Object.fromEntries(
    await page.evaluate<[string, string][]>(
      `[...document.querySelectorAll('.node')].map((node) => [node.dataset.key, node.getAttribute('transform')])`,
    ),
  );

const nodes = (page: Page) => page.locator('.node');
const more = (page: Page, name: string, way: string) =>
  page.getByRole('button', { name: new RegExp(`^Show more of the \\d+ ${way} of asset ${name}$`) });
const close = (page: Page, name: string, way: string) =>
  page.getByRole('button', { name: `Hide what is ${way} of asset ${name}`, exact: true });

describe('the lineage graph', () => {
  test('it starts with one level in each direction, and every side with hidden neighbours has a fold with their number', async () => {
    const { page } = await open();
    expect(await nodes(page).count()).toBe(25);
    const folds = await page.locator('.fold text').allTextContents();
    // The centre hides 18 in each direction and can be closed. The others hide 30 outward, and 29 back: one is shown.
    expect(folds.filter((text) => text === '+18').length).toBe(2);
    expect(folds.filter((text) => text === '−').length).toBe(2);
    expect(folds.filter((text) => text === '+30').length).toBe(24);
    expect(folds.filter((text) => text === '+29').length).toBe(24);
  });

  test('opening and closing a fold moves no other node', async () => {
    const { page } = await open();
    const before = await placesIn(page);
    await more(page, 'a.d3', 'downstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(37);
    const opened = await placesIn(page);
    expect(opened).toMatchObject(before);
    expect(new Set(Object.values(opened)).size).toBe(37);
    // One of its twelve upstream assets is already visible.
    await more(page, 'a.d3.d1', 'upstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(48);
    expect(await placesIn(page)).toMatchObject(opened);
    // Closing a fold also closes the folds of its nodes.
    await close(page, 'a.d3', 'downstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(25);
    expect(await placesIn(page)).toEqual(before);
  });

  test('it never shows more than 100 assets: a fold then says so instead of opening', async () => {
    const { page, server } = await open();
    for (let i = 0; i < 7; i += 1) await more(page, `a.d${i}`, 'downstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(100);
    await page.getByText('100 assets are shown, the maximum. Close a fold').waitFor();
    const asked = server.asked.length;
    const full = page.locator('.fold[aria-disabled=true]').first();
    expect(await full.locator('title').textContent()).toContain(
      '100 assets are shown, the maximum; close a fold first',
    );
    await full.press('Enter');
    expect([await nodes(page).count(), server.asked.length]).toEqual([100, asked]);
    await close(page, 'a.d2', 'downstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(88);
    await more(page, 'a.u1', 'upstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(100);
  });

  test('reloading the address restores the graph', async () => {
    const { page } = await open();
    await more(page, 'a.d3', 'downstream').press('Enter');
    await more(page, 'a', 'upstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(49);
    await page.getByRole('button', { name: /^asset a\.u3 / }).press('Enter');
    const panel = page.getByRole('heading', { name: 'asset a.u3' });
    await panel.waitFor();
    const before = Object.keys(await placesIn(page)).sort();
    await page.reload();
    await panel.waitFor();
    await expect.poll(async () => Object.keys(await placesIn(page)).sort()).toEqual(before);
    await page.goBack();
    await expect.poll(() => nodes(page).count()).toBe(37);
  });

  test('Arrange gives every node its own position, and reloading keeps them', async () => {
    const { page } = await open();
    await more(page, 'a.d3', 'downstream').press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(37);
    await page.getByRole('button', { name: 'Arrange' }).click();
    const arranged = await placesIn(page);
    expect(new Set(Object.values(arranged)).size).toBe(37);
    await page.reload();
    await expect.poll(() => nodes(page).count()).toBe(37);
    expect(await placesIn(page)).toEqual(arranged);
  });

  test('the graph works with the keyboard alone', async () => {
    const { page } = await open();
    const focused = () => page.evaluate<string>(`document.activeElement.querySelector('title').textContent`);
    await page.getByRole('button', { name: 'Arrange' }).focus();
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('asset a PASS · table');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toMatch(/upstream of asset a\.d\d+$/);
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toMatch(/^asset a\.d\d+ /);
    await page.keyboard.press('ArrowDown');
    const [, id = ''] = /^asset (a\.d\d+) /.exec(await focused()) ?? [];
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `asset ${id}` }).waitFor();
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toContain(`downstream of asset ${id}`);
    await page.keyboard.press('Enter');
    await expect.poll(() => nodes(page).count()).toBe(37);
    const viewport = () => page.locator('.graph svg > g').first().getAttribute('transform');
    for (const key of ['Shift+ArrowLeft', '+', '-', '0']) {
      const before = await viewport();
      await page.keyboard.press(key);
      await expect.poll(viewport).not.toBe(before);
    }
  });

  test('dragging the background pans the graph', async () => {
    const { page } = await open();
    const viewport = () => page.locator('.graph svg > g').first().getAttribute('transform');
    const box = await page.locator('.graph svg[role=group]').boundingBox();
    const [x, y] = [(box?.x ?? 0) + 8, (box?.y ?? 0) + 8];
    const before = await viewport();
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 50, y + 20);
    await page.mouse.up();
    expect(await viewport()).not.toBe(before);
  });

  test('the nodes are fetched again only after the mirror has changed', async () => {
    const asset = (tag: string, name: string) => ({
      body: { ...assetDetail('a'), asset: { id: 'a', name, kind: 'table' } },
      headers: { etag: tag },
    });
    const { page, server } = await open('#/asset?id=a', { 'environments/prod/asset': asset('W/"1"', 'old name') });
    const asked = () => server.asked.filter(({ path }) => path.includes('neighbours')).length;
    expect(asked()).toBe(2);
    await page.clock.runFor(16_000);
    await expect.poll(() => server.asked.filter(({ path }) => path.includes('/asset')).length).toBe(2);
    expect(asked()).toBe(2);
    server.replies.set('environments/prod/asset', asset('W/"2"', 'new name'));
    await page.clock.runFor(16_000);
    await page.getByRole('heading', { name: 'new name' }).waitFor();
    await expect.poll(asked).toBe(4);
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 375],
    ['dark', 375],
  ] as const)(
    'axe finds no violations in %s colours at %i pixels, with a node and a fold open',
    async (colorScheme, width) => {
      const { page } = await open('#/asset?id=a&node=a', {}, { colorScheme, viewport: { width, height: 800 } });
      await page.locator('.fold').first().press('Enter');
      expect(await findViolations(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
    },
  );

  test('a link shows the real host of its address', async () => {
    const url = 'https://looker.example.com@elsewhere.test/dashboards/1';
    const { page } = await open('#/asset?id=a', { 'environments/prod/asset': { body: { ...assetDetail('a'), url } } });
    expect(await page.getByRole('link', { name: 'open on elsewhere.test' }).getAttribute('href')).toBe(url);
  });

  test('an address that is neither http nor https is not a link', async () => {
    const { page } = await open();
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    expect(await page.getByText('javascript:alert(1)').count()).toBe(1);
  });
});
