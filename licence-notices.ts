import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/** The licences of all packages that are compiled into a build. */
export function licenceNotices({ inputs }: Pick<Metafile, 'inputs'>, others: readonly string[] = []): string {
  const folders = Object.keys(inputs).map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const packages = [...new Set([...folders.filter((folder) => folder !== undefined), ...others])].sort();
  return packages.map(noticeOf).join('\n----------\n\n');
}

function noticeOf(folder: string): string {
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
  const { name, version, license } = JSON.parse(manifest) as Record<string, string>;
  const files = readdirSync(folder).filter((each) => /^(licen[cs]e|copying|notice)\b/i.test(each));
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${[`${name} ${version} (${license})`, ...texts].join('\n\n')}\n`;
}
