import { rmSync } from 'node:fs';
import { build, type Plugin } from 'esbuild';
import manifest from './package.json' with { type: 'json' };
import { buildPage } from './page.config.ts';

const outdir = process.argv[2] ?? 'dist';

/** What is loaded by every command, or by every run, is compiled in: file by file it takes longer than all they do. */
const COMPILED_IN = [
  'croner',
  'csv-stringify',
  'drizzle-orm',
  'log-update',
  'p-queue',
  'pino',
  'pino-pretty',
  'undici',
  'yargs',
];

/** What measures the words of help for the parser: its own makes a segmenter at every start, which takes longer than the rest of it. */
const textWidth: Plugin = {
  name: 'text-width',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^string-width$/ }, ({ importer }) =>
      /node_modules.(yargs|cliui)\b/.test(importer) ? { path: 'text-width', namespace: 'text-width' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'text-width' }, () => ({
      contents: "export { textWidth as default } from './src/cli/text-width.ts';",
      resolveDir: import.meta.dirname,
    }));
  },
};

/**
 * What the translations of the parser read files with: nothing, so its texts stay in English. In a bundle, it would look for them in a folder
 * `locales` beside the package, where anyone's file could change them.
 */
const noTranslations: Plugin = {
  name: 'no-translations',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /platform-shims\/node\.js$/ }, ({ importer }) =>
      /node_modules.y18n\b/.test(importer) ? { path: 'y18n-shim', namespace: 'no-translations' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'no-translations' }, () => ({
      contents: `import { format } from 'node:util';
        export default { format, fs: {}, exists: () => false, resolve: (...names) => names.at(-1) };`,
      resolveDir: import.meta.dirname,
    }));
  },
};

rmSync(outdir, { recursive: true, force: true });
await build({
  // Beside the program itself, what the threads of a run and of `serve` run.
  entryPoints: {
    main: 'src/cli/main.ts',
    index: 'src/index.ts',
    'run-thread': 'src/api/thread/run-thread.ts',
    'read-thread': 'src/server/read-thread.ts',
  },
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22.20',
  sourcemap: true,
  plugins: [textWidth, noTranslations],
  // Packages in the older form of modules ask for those of Node in their own way.
  banner: {
    js: "import { createRequire as requiring } from 'node:module'; const require = requiring(import.meta.url);",
  },
  external: Object.keys(manifest.dependencies).filter((name) => !COMPILED_IN.includes(name)),
});
await buildPage(outdir);
