import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { launchChromium } from './chromium.ts';

export interface TabOptions extends BrowserContextOptions {
  /** The start of the tab's clock, which tests may advance. */
  readonly time?: string;
}

/** Far longer than any step takes, so a test that waits in vain fails. */
const MAX_WAIT_MS = 20_000;

interface OpenedPage {
  readonly page: Page;
  /** Every address that the tab has requested. */
  readonly requests: readonly string[];
  /** Script errors in the tab, and what the content security policy blocked. */
  readonly complaints: readonly string[];
}

/** Starts a browser for a test file. Returns the function to open a tab, which is closed when the test ends. */
export function useBrowser(): (url: string, options?: TabOptions) => Promise<OpenedPage> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  return (url, options = {}) => openPage(browser as Browser, url, options);
}

async function openPage(browser: Browser, url: string, { time, ...options }: TabOptions): Promise<OpenedPage> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  // Only the test's time limit ends a hang.
  context.setDefaultTimeout(0);
  const page = await context.newPage();
  page.setDefaultTimeout(MAX_WAIT_MS);
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
