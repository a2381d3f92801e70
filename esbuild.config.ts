import { rmSync } from 'node:fs';
import { build } from 'esbuild';
import manifest from './package.json' with { type: 'json' };

const outdir = process.argv[2] ?? 'dist';

/**
 * Compiles the program to dist/, or to the folder named. drizzle-orm is compiled in: loaded file by file it alone takes half a second and 200 MiB
 * at every start, because Node reads its large package.json again for each of its modules. All else stays outside.
 */
rmSync(outdir, { recursive: true, force: true });
await build({
  // Beside the program itself, what the threads of a run and of `serve` run.
  entryPoints: {
    main: 'src/cli/main.ts',
    'run-thread': 'src/cli/run-thread.ts',
    'read-thread': 'src/server/read-thread.ts',
  },
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22.20',
  sourcemap: true,
  external: Object.keys(manifest.dependencies).filter((name) => name !== 'drizzle-orm'),
});
