import { rmSync } from 'node:fs';
import { build } from 'esbuild';
import manifest from './package.json' with { type: 'json' };

/**
 * Compiles the program to dist/. drizzle-orm is compiled in: loaded file by file it alone takes half a second and 200 MiB
 * at every start, because Node reads its large package.json again for each of its modules. All else stays outside.
 */
rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: ['src/cli/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22.20',
  sourcemap: true,
  external: Object.keys(manifest.dependencies).filter((name) => name !== 'drizzle-orm'),
});
