import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeSample } from '../../src/demo/sample.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { SERVE_TOKEN, type Serving, serving } from '../cli/serving.ts';
import { findViolations, overflowOf } from './axe.ts';
import { type TabOptions, useBrowser } from './browser.ts';

const ENV = 'prod-analytics';
const folder = mkdtempSync(join(tmpdir(), 'obsync-page-'));
let mirror: MirrorFile;
let server: Serving;
const openTab = useBrowser();
let visible: readonly string[];

const rows = <T>(sql: string, ...values: unknown[]): T[] => mirror.connection.prepare(sql).all(...values) as T[];
const list = (sql: string, ...values: unknown[]): string[] =>
  mirror.connection
    .prepare(sql)
    .pluck()
    .all(...values)
    .map(String);

/** The asset with the most edges among those whose edges are all shown at first. */
const HUB = `select a.id from live_assets a where a.env_id = '${ENV}' and
  (select count(*) from asset_lineage e where e.env_id = a.env_id and e.downstream_asset_id = a.id) between 1 and 12 and
  (select count(*) from asset_lineage e where e.env_id = a.env_id and e.upstream_asset_id = a.id) between 3 and 12
  and exists (select 1 from live_columns c where c.env_id = a.env_id and c.asset_id = a.id)
  order by a.id limit 1`;

beforeAll(async () => {
  mirror = openForWriting(join(folder, 'mirror.db'));
  makeSample(mirror, { seed: 7, nowMs: Date.now() });
  const [hub = ''] = list(HUB);
  visible = [
    hub,
    ...list(
      `select downstream_asset_id from asset_lineage where env_id = ? and upstream_asset_id = ? limit 2`,
      ENV,
      hub,
    ),
  ];
  const tokens = join(folder, 'tokens.json');
  const token_sha256 = createHash('sha256').update('a-token-of-few-assets').digest('hex');
  writeFileSync(tokens, JSON.stringify([{ name: 'few', token_sha256, environments: [ENV], asset_ids: visible }]));
  const args = ['--tokens', tokens, '--db', mirror.path, '--rate-limit', 'off'];
  // A hook cannot register another hook, so the server is stopped below.
  server = await serving(args, { whenDone: () => {} });
});

afterAll(async () => {
  server?.kill('SIGKILL');
  await server?.ended;
  mirror?.connection.close();
  rmSync(folder, { recursive: true });
});

const VIEWS = ['mirror', 'failing', 'trends', 'untested', 'asset'] as const;

/** A tab with a token, at an address of the page. */
async function open(hash: string, { token = SERVE_TOKEN, ...options }: TabOptions & { readonly token?: string } = {}) {
  const opened = await openTab(`${server.url}/#token=${token}`, options);
  await opened.page.locator('h2').first().waitFor();
  await goTo(opened.page, hash);
  return opened;
}

async function goTo(page: Page, hash: string): Promise<void> {
  await page.goto(`${server.url}/${hash}`);
  await page.locator('main [aria-busy=false]').first().waitFor();
  await page.locator('main:not(:has([aria-busy=true]))').waitFor();
  await expect.poll(() => page.getByText('Loading …').count()).toBe(0);
}

/** The cells of a table, row by row. */
const cellsOf = (page: Page, caption: string): Promise<string[][]> =>
  page.evaluate<string[][]>(`[...[...document.querySelectorAll('table')]
    .find((table) => table.caption?.textContent.startsWith(${JSON.stringify(caption)}))
    .tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))`);

const assetAddress = (id: string, more = ''): string => `#/asset?env=${ENV}&id=${encodeURIComponent(id)}${more}`;

describe('the views of the page over a real mirror', () => {
  test('the view "Can I trust this mirror?" counts the rows of each stream', async () => {
    const { page } = await open('#/mirror');
    const shown = new Map(
      (await cellsOf(page, 'Streams of Production Analytics')).map(([stream, , count]) => [stream, count]),
    );
    for (const table of ['assets', 'columns', 'tests']) {
      const [count] = list(`select count(*) from ${table} where env_id = ? and deleted_at is null`, ENV);
      expect(shown.get(table)).toBe(Number(count).toLocaleString('en'));
    }
    await page.getByText('There has been no sync yet').waitFor();
  });

  test('the view "What fails now?" lists every failing test with its status', async () => {
    const { page } = await open('#/failing');
    const shown = await cellsOf(page, 'Failing tests');
    const failing = rows<{ test_name: string; status: string }>(
      'select test_name, status from failing_tests where env_id = ?',
      ENV,
    );
    expect(failing.length).toBeGreaterThan(20);
    const said = shown.map(([name, result]) => `${name?.split('\n')[0]} ${result?.split('\n')[0]}`);
    expect(said.sort()).toEqual(failing.map(({ test_name, status }) => `${test_name} ${status}`).sort());
    await page.getByText(`${failing.length} tests fail`).waitFor();
  });

  test('the view "Is it getting better?" counts the runs of each owner', async () => {
    const { page } = await open('#/trends');
    const shown = await cellsOf(page, 'By owner');
    const runs = rows<{ owner: string; count: number }>(
      'select owner, sum(run_count) as count from test_runs_daily_by_owner where env_id = ? and owner is not null group by owner',
      ENV,
    );
    const expected = new Map(runs.map(({ owner, count }) => [owner, count.toLocaleString('en')]));
    const named = shown.filter(([name]) => name !== 'without an owner');
    expect(named.length).toBeGreaterThan(5);
    for (const [name = '', , , , count] of named) expect([name, count]).toEqual([name, expected.get(name)]);
  });

  test('the view "What is untested and matters?" lists tables without tests by downstream count', async () => {
    const { page } = await open('#/untested');
    const shown = await cellsOf(page, 'Tables without a test');
    const untested = rows<{ asset_name: string; downstream_count: number }>(
      'select asset_name, downstream_count from coverage_by_impact where env_id = ? and test_count = 0',
      ENV,
    );
    expect(untested.length).toBeGreaterThan(3);
    expect(shown.map(([name, , , count]) => `${name} ${count}`).sort()).toEqual(
      untested.map(({ asset_name, downstream_count }) => `${asset_name} ${downstream_count}`).sort(),
    );
    const counts = shown.map(([, , , count]) => Number(count));
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
  });

  test('the view "What is upstream and downstream of an asset?" finds an asset and shows its neighbours and tests', async () => {
    const [id = ''] = visible;
    const [asset] = rows<{ name: string }>('select name from live_assets where env_id = ? and id = ?', ENV, id);
    const { page } = await open(`#/asset?env=${ENV}`);
    await page.getByLabel('Find an asset').fill(String(asset?.name));
    await page
      .getByRole('link', { name: String(asset?.name), exact: true })
      .first()
      .click();
    await page.locator('.node').first().waitFor();
    const around = list(
      `select upstream_asset_id from asset_lineage where env_id = @env and downstream_asset_id = @id
        union select downstream_asset_id from asset_lineage where env_id = @env and upstream_asset_id = @id`,
      { env: ENV, id },
    );
    const shown = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.node')].map((node) => node.dataset.key)`,
    );
    expect(shown.sort()).toEqual([id, ...around].map((each) => `node ${each}`).sort());
    const tests = list(`select name from live_tests where env_id = ? and asset_id = ? and disabled = 0`, ENV, id);
    expect((await cellsOf(page, `${tests.length} test`)).map(([name]) => name).sort()).toEqual(tests.sort());
  });

  test('the lineage of a column is shown on demand and survives a reload', async () => {
    const [id = ''] = visible;
    const [edge] = rows<{ column: string; other: string }>(
      `select c.name as "column", o.name as other from column_lineage e
        join live_columns c on c.env_id = e.env_id and c.id = e.upstream_column_id
        join live_columns o on o.env_id = e.env_id and o.id = e.downstream_column_id
        where e.env_id = ? and c.asset_id = ? limit 1`,
      ENV,
      id,
    );
    const { page } = await open(assetAddress(id, `&node=${encodeURIComponent(id)}`));
    await page.getByRole('button', { name: 'Show its columns' }).click();
    const columns = list('select name from live_columns where env_id = ? and asset_id = ?', ENV, id);
    await expect.poll(() => page.locator('.columns button').count()).toBe(columns.length);
    await page
      .locator('.columns')
      .getByRole('button', { name: String(edge?.column), exact: true })
      .click();
    await page.getByRole('heading', { name: 'Downstream', exact: true }).waitFor();
    await expect.poll(() => page.locator('.ends').innerText()).toContain(String(edge?.other));
    await expect.poll(() => page.locator('.edge.column').count()).toBeGreaterThan(0);
    const before = page.url();
    await page.reload();
    await page.getByRole('heading', { name: 'Downstream', exact: true }).waitFor();
    expect([page.url(), await page.locator('.columns [aria-pressed=true]').innerText()]).toEqual([
      before,
      edge?.column,
    ]);
  });
});

describe('the page over a real mirror', () => {
  test('reloading the address restores the filter, the open row and the environment', async () => {
    const { page } = await open('#/failing');
    await page.getByLabel('Environment').selectOption('staging-analytics');
    await page.locator('button.disclose').first().click();
    await page.getByLabel('Show rows that contain').fill('FAIL');
    await expect.poll(() => page.url()).toContain('has=FAIL');
    const text = await page.locator('main').innerText();
    await page.reload();
    await expect.poll(() => page.locator('main').innerText()).toBe(text);
    expect(await page.getByLabel('Environment').inputValue()).toBe('staging-analytics');
  });

  test('a change in the mirror appears without a reload', async () => {
    const { page } = await open('#/failing', { time: new Date().toISOString() });
    const [id = ''] = list('select test_id from failing_tests where env_id = ? limit 1', ENV);
    const rename = (name: string) =>
      mirror.connection.prepare('update tests set name = ? where env_id = ? and id = ?').run(name, ENV, id);
    const [before = ''] = list('select name from tests where env_id = ? and id = ?', ENV, id);
    rename('a name of this moment');
    await page.clock.runFor(16_000);
    await page.getByText('a name of this moment').first().waitFor();
    rename(before);
  });

  test('the page sends requests only to its own server, and violates no content security policy', async () => {
    const { page, requests, complaints } = await open('#/mirror');
    for (const view of VIEWS) await goTo(page, `#/${view}`);
    await goTo(page, assetAddress(String(visible[0])));
    await page.locator('.node').first().waitFor();
    expect(requests.length).toBeGreaterThan(8);
    expect(requests.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('the whole page works with the keyboard alone', async () => {
    const { page } = await open('#/mirror');
    const focused = () => page.evaluate<string>('document.activeElement.innerText || document.activeElement.tagName');
    await page.reload();
    await page.getByRole('heading', { name: 'Production Analytics' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe('Lineage');
    for (const _ of [1, 2, 3]) await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe('Failing');
    await page.keyboard.press('Enter');
    // Following a link moves the focus to the heading of the view.
    await expect.poll(focused).toBe('What fails now?');
    await page.getByRole('table').waitFor();
    const seen: string[] = [];
    while (!seen.includes('Downstream') && seen.length < 100) {
      await page.keyboard.press('Tab');
      seen.push(await focused());
    }
    // Focusing a table heading shows its explanation.
    expect(await page.locator('.tip').innerText()).toBe('number of its descendants');
    await page.keyboard.press('Escape');
    expect(await page.locator('.tip').count()).toBe(0);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Sub-test', { exact: true }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('What is upstream and downstream of an asset?');
    await page.locator('.node.centre').waitFor();
  });

  test.each([
    ['dark', 1280],
    ['light', 375],
  ] as const)('axe finds no violations in any view, in %s colours at %i pixels', async (colorScheme, width) => {
    const { page } = await open('#/mirror', { colorScheme, viewport: { width, height: 800 } });
    for (const address of [
      ...VIEWS.map((view) => `#/${view}`),
      assetAddress(String(visible[0]), `&node=${visible[0]}&columns=true`),
    ]) {
      await goTo(page, address);
      expect({ address, violations: await findViolations(page), overflow: await overflowOf(page) }).toEqual({
        address,
        violations: [],
        overflow: 0,
      });
    }
  });
});

describe('the page with a token limited to a few assets', () => {
  test('no view or response reveals any other asset', async () => {
    const token = 'a-token-of-few-assets';
    const { page } = await open('#/mirror', { token });
    const received: string[] = [];
    page.on('response', async (response) => received.push(await response.text().catch(() => '')));
    const seen: string[] = [];
    const [id = ''] = visible;
    const places = [
      ...VIEWS.map((view) => `#/${view}`),
      `#/asset?q=a`,
      '#/untested?all=true',
      '#/trends?by=schema',
      assetAddress(id),
      assetAddress(id, `&node=${id}&columns=true`),
    ];
    for (const place of places) {
      await goTo(page, place);
      seen.push(await page.locator('body').innerText());
    }
    await page.locator('.node').first().waitFor();
    expect(await page.locator('.node').count()).toBe(visible.length);
    const holes = visible.map(() => '?').join(', ');
    const others = rows<{ id: string; name: string }>(
      `select id, name from assets where env_id = ? and id not in (${holes})`,
      ENV,
      ...visible,
    );
    const ownNames = new Set(list(`select name from assets where env_id = ? and id in (${holes})`, ENV, ...visible));
    const words = new Set(seen.join('\n').split(/\s+/));
    expect([...ownNames].some((name) => words.has(name))).toBe(true);
    expect(others.filter(({ name }) => words.has(name) && !ownNames.has(name))).toEqual([]);
    const answers = received.join('\n');
    expect(answers).toContain(`"${id}"`);
    expect(others.filter((other) => answers.includes(`"${other.id}"`))).toEqual([]);
    expect(seen.join('\n')).not.toContain('Staging');
  });

  test('an asset that it may not see is reported like one that does not exist', async () => {
    const [other = ''] = list(
      `select id from live_assets where env_id = ? and id <> ? order by id desc limit 1`,
      ENV,
      visible[0],
    );
    const { page } = await open('#/mirror', { token: 'a-token-of-few-assets' });
    const said: string[] = [];
    for (const id of [other, 'nothing.of.this.id']) {
      await goTo(page, assetAddress(id));
      said.push((await page.locator('main .notice').innerText()).replace(id, 'X'));
    }
    expect(said[0]).toBe(said[1]);
  });
});
