import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core';
import { onTestFinished } from 'vitest';

export interface TabOptions extends BrowserContextOptions {
  /** The time that the tab believes it is; it goes on from there, and tests may turn it on. */
  readonly time?: string;
}

/** Far more than anything takes; a test that waits for what never comes ends with it. */
const MOST_WAIT_MS = 20_000;

/** A browser of its own for one test file. */
export interface TestBrowser {
  /** A new tab, which ends with the test. */
  open(url: string, options?: TabOptions): Promise<OpenedPage>;
  close(): Promise<void>;
}

interface OpenedPage {
  readonly page: Page;
  /** Every address that the tab has asked for. */
  readonly requests: readonly string[];
  /** What went wrong in the tab: failed scripts, and what the policy has blocked. */
  readonly complaints: readonly string[];
}

/** Starts the Chromium that an npm package brings. */
export async function startBrowser(): Promise<TestBrowser> {
  const folder = await unpacked();
  const browser = await playwright.launch({
    executablePath: join(folder, 'chromium'),
    args: ['--no-sandbox'],
    env: { ...process.env, FONTCONFIG_FILE: join(folder, 'own-fonts.conf') },
  });
  return { open: (url, options = {}) => openPage(browser, url, options), close: () => browser.close() };
}

async function openPage(browser: Browser, url: string, { time, ...options }: TabOptions): Promise<OpenedPage> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(MOST_WAIT_MS);
  const [requests, complaints]: [string[], string[]] = [[], []];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text());
  });
  if (time !== undefined) await page.clock.install({ time });
  await page.goto(url);
  return { page, requests, complaints };
}

const CACHE = join(import.meta.dirname, '../../node_modules/.cache');
const BROWSER = join(CACHE, 'chromium');

/** The fonts that come with the browser alone, so that texts are equally wide everywhere. */
const FONTS = `<?xml version="1.0"?>
<fontconfig><dir>${join(BROWSER, 'fonts/fonts')}</dir><cachedir>${join(BROWSER, 'fonts-cache')}</cachedir></fontconfig>
`;

/** Unpacks the browser once for all runs; what is there is whole, because it came there by renaming. */
async function unpacked(): Promise<string> {
  if (existsSync(BROWSER)) return BROWSER;
  mkdirSync(CACHE, { recursive: true });
  const own = mkdtempSync(join(CACHE, 'chromium-'));
  const { TMPDIR: before } = process.env;
  process.env['TMPDIR'] = own;
  try {
    await chromium.executablePath();
    writeFileSync(join(own, 'own-fonts.conf'), FONTS);
    renameSync(own, BROWSER);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    // Another process was first.
    if (!existsSync(BROWSER)) throw error;
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  return BROWSER;
}
