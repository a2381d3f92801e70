import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

export function version(): string {
  const manifest = findPackageJSON(import.meta.url) ?? 'package.json';
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
