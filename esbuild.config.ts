import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { licenceNotices } from './licence-notices.ts';
import manifest from './package.json' with { type: 'json' };
import { buildPage } from './page.config.ts';

const outdir = process.argv[2] ?? 'dist';

/** Replaces the string-width of yargs, which makes a segmenter at every start: that takes longer than all the rest. */
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
 * Keeps the parser's texts in English. In a bundle, it would look for translations in a folder `locales` beside the
 * package, where anyone's file could change them.
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

/** The package's entry, which an older Node can load as far as it has to: it cannot even link the library. */
function entryOf({ outputs }: Metafile): string {
  const [, library] = Object.entries(outputs).find(([path]) => basename(path) === 'library.js') ?? [];
  return `import { createRequire } from 'node:module';
import { outdatedNode } from './node-version.js';
const outdated = outdatedNode();
if (outdated !== null) throw new Error(outdated);
// Not \`await import\`: programs may load the package by \`require\`.
export const { ${library?.exports.join(', ')} } = createRequire(import.meta.url)('./library.js');
`;
}

/** Compiles entries into the folder. What several of them import, or import on demand, becomes a file of its own. */
async function compile(entryPoints: Record<string, string>): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints,
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
    // All else is compiled in, which starts faster and takes less room. pg would use `pg-native` if it were there.
    external: [...Object.keys(manifest.dependencies), 'pg-native'],
    metafile: true,
  });
  return metafile;
}

rmSync(outdir, { recursive: true, force: true });
const program = await compile({
  main: 'src/cli/main.ts',
  library: 'src/index.ts',
  'node-version': 'src/settings/node-version.ts',
  'read-thread': 'src/server/read-thread.ts',
});
// Every sync starts it. Compiled with the others it would load 30 more files, which takes a twentieth of the CPU of an
// idle sync.
const thread = await compile({ 'run-thread': 'src/api/thread/run-thread.ts' });
writeFileSync(join(outdir, 'index.js'), entryOf(program));
const inputs = { ...program.inputs, ...thread.inputs };
writeFileSync(join(outdir, 'LICENCES.txt'), licenceNotices({ inputs }, ['node_modules/@fastify/swagger-ui']));
for (const file of ['swagger-ui-bundle.js', 'swagger-ui.css'])
  cpSync(join('node_modules/@fastify/swagger-ui/static', file), join(outdir, 'docs', file));
await buildPage(outdir);
