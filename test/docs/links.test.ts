import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allDocuments, blocksOf, type Document, ROOT, readDocument } from './documents.ts';

const documents = allDocuments();

/** Relative links as `[file, anchor]`; the file is empty for a link within the document. */
function linksOf({ text }: Document): [string, string][] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => target.split('#'))
    .map(([file = '', anchor = '']) => [file, anchor]);
}

/** The anchors of its headings, as GitHub generates them. */
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

describe('the links of the documents', () => {
  test.each(documents.map((document) => [document.path, document] as const))(
    'every link of %s has a target',
    (_, document) => {
      const broken = linksOf(document).filter(([file, anchor]) => {
        const path = file === '' ? document.path : join(dirname(document.path), file);
        if (!existsSync(join(ROOT, path))) return true;
        return anchor !== '' && !anchorsOf(readDocument(path)).includes(anchor);
      });
      expect(broken).toEqual([]);
    },
  );

  test('every page of docs is linked from the README or from a page that it links', () => {
    const named = (path: string): string[] =>
      linksOf(readDocument(path)).map(([file]) => (file === '' ? path : join(dirname(path), file)));
    const reached = new Set(named('README.md').filter((path) => path.endsWith('.md') && existsSync(join(ROOT, path))));
    const further = [...reached].flatMap(named);
    const pages = documents.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
    expect(pages.filter((path) => !reached.has(path) && !further.includes(path))).toEqual([]);
  });
});

/** Files and folders of the project in a document, such as `src/core/plan.ts`, but no patterns or partial paths. */
const NAMED = /`((?:src|schema|state|test|docs)\/[\w./-]*\w)`/g;

/** The changelog may mention deleted files. */
const PRESENT = documents.filter(({ path }) => path !== 'CHANGELOG.md');

test.each(PRESENT.map(({ path, text }) => [path, text] as const))('%s mentions only files that exist', (_, text) => {
  const named = [...text.matchAll(NAMED)].map(([, path]) => path as string);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the README has at most 150 lines', () => {
  expect(readDocument('README.md').text.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});
