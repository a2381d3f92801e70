import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build, type Metafile, type OutputFile } from 'esbuild';
import { licenceNotices } from './licence-notices.ts';
import { DICTIONARY } from './schema/dictionary.ts';
import { METRICS } from './schema/metrics.ts';
import { TERM_PLACES } from './src/page/term-places.ts';

const SOURCES = 'src/page';

/**
 * Bundles the page into `ui` of this folder: files with a hash in their names, each also compressed, and the page that
 * names them. Beside it, `report.html` is all of it in one file.
 */
export async function buildPage(outdir: string): Promise<void> {
  const folder = join(outdir, 'ui');
  const files = join(folder, 'files');
  const options = {
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    define: { TERM_TEXTS: JSON.stringify(termTexts()) },
  } as const;
  const { metafile } = await build({
    ...options,
    entryPoints: { page: join(SOURCES, 'main.ts'), style: join(SOURCES, 'style.css'), icon: join(SOURCES, 'icon.svg') },
    outdir: files,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    splitting: true,
    format: 'esm',
    metafile: true,
  });
  mkdirSync(files, { recursive: true });
  // Dagre's own bundle holds graphlib.
  const notices = licenceNotices(metafile, ['node_modules/@dagrejs/graphlib']);
  const licences = `licences-${createHash('sha256').update(notices).digest('hex').slice(0, 8).toUpperCase()}.txt`;
  writeFileSync(join(files, licences), notices);
  writeFileSync(join(folder, 'index.html'), fillTemplate(metafile, licences));
  const bundled = { ...options, outdir, write: false, format: 'iife' } as const;
  const { outputFiles: parts } = await build({
    ...bundled,
    entryPoints: [join(SOURCES, 'main.ts'), join(SOURCES, 'style.css')],
  });
  writeFileSync(join(outdir, 'report.html'), fillReport(parts, notices));
  for (const path of [...globSync(join(files, '*')), join(folder, 'index.html')]) compress(path);
}

/** What the dictionary says of the words that the page explains. */
function termTexts(): Readonly<Record<string, string>> {
  const descriptions = new Map([
    ...DICTIONARY.flatMap((table) =>
      table.columns.map(({ name, description }): [string, string] => [`${table.name}.${name}`, description]),
    ),
    ...Object.entries(METRICS).map(([name, { description }]): [string, string] => [`metric.${name}`, description]),
  ]);
  return Object.fromEntries(
    Object.entries(TERM_PLACES).map(([term, place]) => {
      const description = descriptions.get(place);
      if (description === undefined) throw new Error(`the dictionary does not describe ${place}`);
      return [term, description.replaceAll('`', '')];
    }),
  );
}

function fillTemplate({ outputs }: Metafile, licences: string): string {
  const built = Object.entries(outputs);
  const nameOf = (source: string): string => {
    const [path] = built.find(([, { entryPoint, inputs }]) => (entryPoint ?? Object.keys(inputs)[0]) === source) ?? [];
    if (path === undefined) throw new Error(`the build has made nothing of ${source}`);
    return basename(path);
  };
  const main = join(SOURCES, 'main.ts');
  const [, { imports } = { imports: [] }] = built.find(([, { entryPoint }]) => entryPoint === main) ?? [];
  const preloads = imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="ui/${basename(path)}">`);
  return fill('index.html', {
    script: nameOf(main),
    style: nameOf(join(SOURCES, 'style.css')),
    icon: nameOf(join(SOURCES, 'icon.svg')),
    licences,
    preloads: preloads.join(''),
  });
}

/** The page as one file. Its data is filled in when a report is made. */
function fillReport(parts: readonly OutputFile[], notices: string): string {
  const textOf = (extension: string): string => parts.find(({ path }) => path.endsWith(extension))?.text ?? '';
  const [script, style] = [textOf('.js'), textOf('.css')];
  const allowed = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return fill('report.html', {
    policy: `default-src 'none'; script-src ${allowed(script)}; style-src ${allowed(style)}`,
    script: `<script>${script}</script>`,
    style: `<style>${style}</style>`,
    licences: notices.replaceAll('--', '- -'),
    madeAt: '{{madeAt}}',
    answers: '{{answers}}',
  });
}

/** A document of the page with values in its places. */
function fill(name: string, values: Readonly<Record<string, string>>): string {
  return readFileSync(join(SOURCES, name), 'utf8').replaceAll(/\{\{(\w+)\}\}/g, (_, place) => {
    const value = values[place];
    if (value === undefined) throw new Error(`${name} asks for ${place}, which the build does not know`);
    return value;
  });
}

function compress(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(bytes));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
