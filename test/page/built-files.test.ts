import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { builtPage } from './fixture-server.ts';

const MAX_BYTES = 60 * 1024;
const compressed = /\.(br|gz)$/;
const paths = globSync(join(builtPage(), '**/*.*')).filter((path) => !compressed.test(path));
const index = readFileSync(join(builtPage(), 'index.html'), 'utf8');

test('the files of the page have at most 60 KB, compressed', () => {
  const shown = paths.filter((path) => !path.endsWith('.txt'));
  expect(shown.length).toBeGreaterThan(3);
  const bytes = shown.map((path) => readFileSync(`${path}.gz`).length).reduce((sum, each) => sum + each, 0);
  expect(bytes).toBeLessThan(MAX_BYTES);
});

test('each file is stored in both compressions with the same content', () => {
  for (const path of paths) {
    const bytes = readFileSync(path);
    expect(gunzipSync(readFileSync(`${path}.gz`)).equals(bytes)).toBe(true);
    expect(brotliDecompressSync(readFileSync(`${path}.br`)).equals(bytes)).toBe(true);
  }
});

test('each file except the page itself has a hash in its name, and the page preloads its first ones', () => {
  const files = paths.map((path) => basename(path)).filter((name) => name !== 'index.html');
  for (const name of files) expect(name).toMatch(/-[0-9A-Z]{8}\.\w+$/);
  const named = [...index.matchAll(/(?:src|href)="ui\/([^"]*)"/g)].map(([, name]) => name);
  expect(files).toEqual(expect.arrayContaining(named));
  expect(named.length).toBeGreaterThan(3);
});

test('the page has no inline script or style, which its policy would block', () => {
  expect(index).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
});

test('the licences of all bundled packages are included', () => {
  const licences = readFileSync(paths.find((path) => basename(path).startsWith('licences')) ?? '', 'utf8');
  const packages = ['preact', 'htm', '@preact/signals', '@preact/signals-core', '@dagrejs/dagre', '@dagrejs/graphlib'];
  for (const name of packages) expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'));
  expect(licences.match(/permission|apache/gi)?.length).toBeGreaterThanOrEqual(packages.length);
});
