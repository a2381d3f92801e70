import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const outdir = process.argv[2] ?? 'dist';

/** Writes the declarations of the library into one file: what no user can name is not in it. */
const folder = mkdtempSync(join(import.meta.dirname, '.types-'));
try {
  execFileSync(join(import.meta.dirname, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.types.json', '--outDir', folder], {
    stdio: 'inherit',
  });
  const bundle = await rolldown({
    input: { index: join(folder, 'src/index.d.ts') },
    plugins: [dts({ dtsInput: true, emitDtsOnly: true })],
    external: /^[^./]/,
  });
  await bundle.write({ dir: outdir, format: 'esm' });
} finally {
  rmSync(folder, { recursive: true });
}
