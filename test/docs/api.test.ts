import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, readDocument, sectionOf, sectionsOf } from './documents.ts';

const API = readDocument('docs/api.md');

const testFiles = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.startsWith('docs'))
  .map((name) => readFileSync(join(ROOT, 'test', name), 'utf8'));

/** The distinct citations in test titles, such as `endpoint 7`. */
function cited(pattern: RegExp): string[] {
  const found = testFiles.flatMap((text) => [...text.matchAll(pattern)].map(([, number]) => number as string));
  return [...new Set(found)].sort();
}

/** The numbers of a numbered list. */
const numbersIn = (text: string): string[] => [...text.matchAll(/^(\d+)\. /gm)].map(([, number]) => number as string);

describe('docs/api.md', () => {
  const endpoints = sectionsOf(API, 3);

  test('it numbers its endpoints in order, and has every one that tests cite', () => {
    const titled = endpoints.map(({ title }) => /^Endpoint (\d+):/.exec(title)?.[1]);
    expect(titled).toEqual(endpoints.map((_, i) => String(i + 1)));
    expect(titled).toEqual(expect.arrayContaining(cited(/\bendpoint (\d+)\b/g)));
  });

  test.each(['pagination', 'feed', 'authentication', 'versioning'])('it has every %s rule that tests cite', (about) => {
    const title = `${about[0]?.toUpperCase()}${about.slice(1)} rules`;
    const numbers = cited(new RegExp(`\\b${about} rule (\\d+)\\b`, 'g'));
    expect(numbers).not.toEqual([]);
    expect(numbersIn(sectionOf(API, title).text)).toEqual(expect.arrayContaining(numbers));
  });

  test('it has every aggregate rule that tests cite', () => {
    const numbers = cited(/\(endpoint 11, rule (\d+)\)/g);
    expect(numbers).not.toEqual([]);
    expect(numbersIn(sectionOf(API, 'Endpoint 11: the aggregate').text)).toEqual(expect.arrayContaining(numbers));
  });

  test('it has the field notes and the limits that tests cite', () => {
    expect(sectionOf(API, 'Field notes').text).toMatch(/\S/);
    expect(sectionOf(API, 'Limits').text).toMatch(/\S/);
  });
});
