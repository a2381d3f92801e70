import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Database } from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { query } from '../../src/api/query.ts';
import { type PageReport, writeReport } from '../../src/api/report.ts';
import { makeSample } from '../../src/demo/sample.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { findViolations, overflowOf } from './axe.ts';
import { useBrowser } from './browser.ts';

const folder = mkdtempSync(join(tmpdir(), 'obsync-report-'));
const db = join(folder, 'm.db');
const whole = join(folder, 'whole.html');
const to = join(folder, 'report.html');
const openTab = useBrowser();
let report: PageReport;

beforeAll(async () => {
  const mirror = openForWriting(db);
  makeSample(mirror, { seed: 7, nowMs: Date.parse('2026-11-20T09:17:00Z') });
  mirror.connection.close();
  report = await writeReport({ db, to: whole });
});

afterAll(() => rmSync(folder, { recursive: true }));

/** A copy of the mirror with a change. */
function changedMirror(name: string, change: (connection: Database) => void): string {
  const path = join(folder, name);
  copyFileSync(db, path);
  const { connection } = openForWriting(path);
  change(connection);
  connection.close();
  return path;
}

const text = async (sql: string): Promise<string> => {
  const { portions } = await query({ db, sql });
  return String((await Array.fromAsync(portions)).flat()[0]?.[0]);
};
const count = async (sql: string): Promise<number> => Number(await text(sql));

describe('the HTML report', () => {
  test('it is one file that shows every view without a server or any request', async () => {
    expect(report).toMatchObject({
      failing_count: await count('select count(*) from failing_tests'),
      environments: ['Production Analytics', 'Staging Analytics'],
      bytes: readFileSync(whole).length,
      passed: true,
    });
    const { page, requests, complaints } = await openTab(pathToFileURL(whole).href);
    await page.getByText('A report made at').waitFor();
    expect(await page.locator('footer a').count()).toBe(0);
    for (const link of await page.locator('nav a').all()) {
      await link.click();
      await page.locator('main:not(:has([aria-busy=true]))').waitFor();
      expect(await page.locator('main').innerText()).not.toMatch(/does not include|is not responding|token/);
      expect(await findViolations(page)).toEqual([]);
    }
    expect(complaints).toEqual([]);
    expect(requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
  });

  test('its counts are those of the mirror, limited to the selected environments', async () => {
    const inStaging = await count("select count(*) from failing_tests where env_id = 'staging-analytics'");
    const report = await writeReport({ db, to, env: ['Staging Analytics'] });
    expect(report).toMatchObject({ failing_count: inStaging, environments: ['Staging Analytics'] });
    const { page } = await openTab(`${pathToFileURL(to).href}#/failing`);
    await page.getByText(`${inStaging} tests fail`).waitFor();
    expect(await page.content()).not.toContain('prod-analytics');
    expect(await page.locator('header').innerText()).not.toContain('token');
  });

  test('an environment that is no longer listed is left out unless it is selected', async () => {
    const missing = changedMirror('missing.db', (connection) =>
      connection.exec(
        "update environments set missing_since = '2026-11-19T08:30:00.000000Z' where id = 'staging-analytics'",
      ),
    );
    const [inProduction, inStaging] = await Promise.all(
      ['prod', 'staging'].map((env) => count(`select count(*) from failing_tests where env_id = '${env}-analytics'`)),
    );
    const all = await writeReport({ db: missing, to, maxFailing: inProduction });
    expect(all).toMatchObject({ failing_count: inProduction, environments: ['Production Analytics'], passed: true });
    const { page } = await openTab(`${pathToFileURL(to).href}#/failing?env=staging-analytics`);
    await page.getByText('Staging Analytics is no longer listed since 2026-11-19 08:30 UTC').waitFor();
    const one = await writeReport({ db: missing, to, env: ['Staging Analytics'] });
    expect(one).toMatchObject({ failing_count: inStaging, environments: ['Staging Analytics'] });
    const { page: asked } = await openTab(`${pathToFileURL(to).href}#/failing`);
    await asked.getByText(/^[0-9]+ (checks|tests) fail/).waitFor();
  });

  test('on a phone it shows and finds assets with failing tests, and says that other assets are not included', async () => {
    const inProduction = "env_id = 'prod-analytics'";
    const failing = await text(`select asset_id from failing_test_impact where ${inProduction} limit 1`);
    const name = await text(`select name from assets where ${inProduction} and id = '${failing}'`);
    const other = await text(`select id from live_assets where ${inProduction}
      and id not in (select asset_id from failing_tests where ${inProduction}) limit 1`);
    const neighbours = await count(`select count(distinct i) from (
      select upstream_asset_id as i from asset_lineage where ${inProduction} and downstream_asset_id = '${failing}'
      union select downstream_asset_id from asset_lineage where ${inProduction} and upstream_asset_id = '${failing}')`);
    const address = (id: string): string =>
      `${pathToFileURL(whole).href}#/asset?env=prod-analytics&id=${encodeURIComponent(id)}`;
    const viewport = { width: 375, height: 700 };
    const { page } = await openTab(address(failing), { viewport });
    await page.getByText(`${neighbours + 1} assets are shown.`).waitFor();
    expect(await overflowOf(page)).toBe(0);
    await page.getByLabel('Find an asset').fill(name.slice(1));
    await page.getByRole('link', { name, exact: true }).first().waitFor();
    const { page: otherPage } = await openTab(address(other), { viewport });
    await otherPage.getByText('This report does not include it').first().waitFor();
  });

  test('a report of more than 5 MB is refused, and an existing file stays', async () => {
    const before = readFileSync(whole);
    const large = changedMirror('large.db', (connection) => {
      // Incompressible texts.
      connection.function('noise', () => randomBytes(45_000).toString('base64'));
      connection.exec('update assets set description = noise() where id in (select asset_id from failing_tests)');
    });
    await expect(writeReport({ db: large, to: whole })).rejects.toThrow(
      /^the report would have \d+\.\d MB, more than the limit of 5 MB: choose fewer environments/,
    );
    expect(readFileSync(whole).equals(before)).toBe(true);
  });

  test('it never overwrites a file that is not a report', async () => {
    const mine = join(folder, 'mine.html');
    writeFileSync(mine, '<p>mine</p>');
    await expect(writeReport({ db, to: mine })).rejects.toMatchObject({ recovery: 'usage' });
    expect(readFileSync(mine, 'utf8')).toBe('<p>mine</p>');
  });

  test('it reports failure if more tests fail than allowed, and is still written', async () => {
    const allowed = await count("select count(*) from failing_tests where env_id = 'staging-analytics'");
    const options = { db, to, env: ['staging-analytics'] };
    expect(await writeReport({ ...options, maxFailing: allowed })).toMatchObject({ passed: true });
    rmSync(to);
    expect(await writeReport({ ...options, maxFailing: allowed - 1 })).toMatchObject({ passed: false, to });
    expect(existsSync(to)).toBe(true);
  });
});
