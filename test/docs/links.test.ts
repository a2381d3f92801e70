import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allDocuments, blocksOf, type Document, ROOT, readDocument } from './documents.ts';

const documents = allDocuments();

/** Relative links, as `[file, anchor]`; a link within the document names no file. */
function linksOf({ text }: Document): [string, string][] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => target.split('#'))
    .map(([file = '', anchor = '']) => [file, anchor]);
}

/** The anchors of its headings, as GitHub makes them. */
function anchorsOf({ text }: Document): string[] {
  const shell = blocksOf({ text }).map((block) => block.text);
  return [...text.matchAll(/^#+ (.+)$/gm)]
    .filter(([line]) => !shell.some((block) => block.includes(line)))
    .map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );
}

describe('links', () => {
  test.each(documents.map((document) => [document.path, document] as const))('of %s lead somewhere', (_, document) => {
    const broken = linksOf(document).filter(([file, anchor]) => {
      const path = file === '' ? document.path : join(dirname(document.path), file);
      if (!existsSync(join(ROOT, path))) return true;
      return anchor !== '' && !anchorsOf(readDocument(path)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('lead from the README, or from a page that it names, to every page of docs', () => {
    const named = (path: string): string[] =>
      linksOf(readDocument(path)).map(([file]) => (file === '' ? path : join(dirname(path), file)));
    const reached = new Set(named('README.md').filter((path) => path.endsWith('.md') && existsSync(join(ROOT, path))));
    const further = [...reached].flatMap(named);
    const pages = documents.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
    expect(pages.filter((path) => !reached.has(path) && !further.includes(path))).toEqual([]);
  });
});

/** Files and folders of the project that a document names, as `src/core/plan.ts`; not patterns, nor parts of a path. */
const NAMED = /`((?:src|schema|state|test|docs)\/[\w./-]*\w)`/g;

/** The changelog speaks of files that may be gone. */
const PRESENT = documents.filter(({ path }) => path !== 'CHANGELOG.md');

test.each(PRESENT.map(({ path, text }) => [path, text] as const))('%s names files that are there', (_, text) => {
  const named = [...text.matchAll(NAMED)].map(([, path]) => path as string);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the README has 150 lines at most', () => {
  expect(readDocument('README.md').text.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});
