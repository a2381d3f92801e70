import { serve } from '../src/api/serve.ts';
import { closeWritten } from '../src/destination/sqlite/close.ts';
import { launchChromium } from '../test/page/chromium.ts';
import { keepFigures, MACHINE, median, print, verdict } from './figures.ts';
import { HUB, openPageMirror, PAGE_SIZE } from './page-mirror.ts';

/**
 * How long the page takes with a large mirror in a new tab of Chromium: until the first paint, and until the answer is
 * visible. Prints a table, and saves it in `docs/benchmarks.md` with `--keep`; exits 1 if a bound is exceeded. `--at
 * FILE` creates the mirror there once and keeps it.
 */
const RUNS = 5;
const MAX_MS = 1000;
const TOKEN = 'a-token-for-this-benchmark-alone';

/** The addresses, and the selector that shows the answer is visible. */
const VIEWS: readonly (readonly [address: string, shown: string])[] = [
  ['#/mirror', 'table'],
  ['#/failing', 'table'],
  ['#/trends', '.chart'],
  ['#/untested', 'table'],
  [`#/asset?id=${HUB}`, '.node'],
];

const { path, written, remove } = openPageMirror();
closeWritten(written);
const server = await serve({ db: path, token: TOKEN, port: 0, rateLimit: 'off' });
const browser = await launchChromium();

async function look(address: string, shown: string): Promise<{ paint: number; answer: number }> {
  const context = await browser.newContext();
  await context.addInitScript(`sessionStorage.setItem('obsync-token', '${TOKEN}')`);
  const page = await context.newPage();
  await page.goto(`${server.url}/${address}`);
  await page.locator(shown).first().waitFor();
  const answer = await page.evaluate<number>('performance.now()');
  const paint = await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0].startTime`);
  await context.close();
  return { paint, answer };
}

print(`${MACHINE}; medians of ${RUNS}; the page in a new tab over a mirror of ${PAGE_SIZE.columns} columns, ${PAGE_SIZE.edges} edges and ${PAGE_SIZE.runs} runs.

| view | first paint, ms | answer shown, ms | first paint at most | holds |
|---|---|---|---|---|`);
for (const [address, shown] of VIEWS) {
  await look(address, shown);
  const looks: { paint: number; answer: number }[] = [];
  for (let run = 0; run < RUNS; run += 1) looks.push(await look(address, shown));
  const paint = median(looks.map((each) => each.paint));
  const answer = median(looks.map((each) => each.answer)).toFixed(0);
  print(`| \`${address.split('?')[0]}\` | ${paint.toFixed(0)} | ${answer} | ${MAX_MS} | ${verdict(paint <= MAX_MS)} |`);
}
await browser.close();
await server.close();
remove();
keepFigures('## The page in a browser');
