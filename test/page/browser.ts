import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { launchChromium } from './chromium.ts';

export interface TabOptions extends BrowserContextOptions {
  /** The start of the tab's clock, which tests may advance. */
  readonly time?: string;
}

/** Far longer than any step takes, so a test that waits in vain fails. */
const MAX_WAIT_MS = 20_000;

/** A browser for one test file. */
export interface TestBrowser {
  /** Opens a tab that is closed when the test ends. */
  open(url: string, options?: TabOptions): Promise<OpenedPage>;
  close(): Promise<void>;
}

interface OpenedPage {
  readonly page: Page;
  /** Every address that the tab has requested. */
  readonly requests: readonly string[];
  /** Script errors in the tab, and what the content security policy blocked. */
  readonly complaints: readonly string[];
}

export async function startBrowser(): Promise<TestBrowser> {
  const browser = await launchChromium();
  return { open: (url, options = {}) => openPage(browser, url, options), close: () => browser.close() };
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
