import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { launchChromium } from './chromium.ts';

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

export async function startBrowser(): Promise<TestBrowser> {
  const browser = await launchChromium();
  return { open: (url, options = {}) => openPage(browser, url, options), close: () => browser.close() };
}

async function openPage(browser: Browser, url: string, { time, ...options }: TabOptions): Promise<OpenedPage> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  // Only the limit of a test ends what hangs.
  context.setDefaultTimeout(0);
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
