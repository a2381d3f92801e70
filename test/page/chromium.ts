import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';

/** Starts the Chromium that an npm package brings. */
export async function launchChromium(): Promise<Browser> {
  const folder = await unpacked();
  const launch = (env: Readonly<Record<string, string>>): Promise<Browser> =>
    playwright.launch({
      executablePath: join(folder, 'chromium'),
      args: ['--no-sandbox'],
      env: { ...process.env, FONTCONFIG_FILE: join(folder, 'own-fonts.conf'), ...env },
    });
  // A machine without a desktop may lack libraries; the package brings these as well.
  return launch({}).catch(() => launch({ LD_LIBRARY_PATH: join(folder, 'al2023/lib') }));
}

const CACHE = join(import.meta.dirname, '../../node_modules/.cache');
const BROWSER = join(CACHE, 'whole-chromium');
const LIBRARIES = fileURLToPath(new URL('../bin/al2023.tar.br', import.meta.resolve('@sparticuz/chromium')));

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
    await inflate(LIBRARIES);
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
