import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';

/** Starts the Chromium of an npm package. */
export async function launchChromium(): Promise<Browser> {
  const folder = await unpacked();
  // At every start: the folder may have been moved since it was unpacked.
  const fontsFile = `${FONTS_FILE}.${randomUUID()}`;
  writeFileSync(fontsFile, FONTS);
  // Another process may be starting a browser.
  renameSync(fontsFile, FONTS_FILE);
  const launch = (env: Readonly<Record<string, string>>): Promise<Browser> =>
    playwright.launch({
      executablePath: join(folder, 'chromium'),
      args: ['--no-sandbox'],
      env: { ...process.env, FONTCONFIG_FILE: FONTS_FILE, ...env },
    });
  // A machine without a desktop may lack shared libraries; the package includes them.
  return launch({}).catch(() => launch({ LD_LIBRARY_PATH: join(folder, 'al2023/lib') }));
}

const CACHE = join(import.meta.dirname, '../../node_modules/.cache');
const BROWSER = join(CACHE, 'whole-chromium');
const LIBRARIES = fileURLToPath(new URL('../bin/al2023.tar.br', import.meta.resolve('@sparticuz/chromium')));

const FONTS_FILE = join(BROWSER, 'own-fonts.conf');

/** Only the browser's own fonts, so texts have the same width on every machine. */
const FONTS = `<?xml version="1.0"?>
<fontconfig><dir>${join(BROWSER, 'fonts/fonts')}</dir><cachedir>${join(BROWSER, 'fonts-cache')}</cachedir></fontconfig>
`;

/** Unpacks the browser once for all runs. The folder is renamed into place, so it is always complete. */
async function unpacked(): Promise<string> {
  if (existsSync(BROWSER)) return BROWSER;
  mkdirSync(CACHE, { recursive: true });
  const own = mkdtempSync(join(CACHE, 'chromium-'));
  const { TMPDIR: before } = process.env;
  process.env['TMPDIR'] = own;
  try {
    await chromium.executablePath();
    await inflate(LIBRARIES);
    renameSync(own, BROWSER);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    // Another process unpacked it first.
    if (!existsSync(BROWSER)) throw error;
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  return BROWSER;
}
