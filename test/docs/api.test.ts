import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, readDocument, sectionOf, sectionsOf } from './documents.ts';

const API = readDocument('docs/api.md');

const testFiles = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.startsWith('docs'))
  .map((name) => readFileSync(join(ROOT, 'test', name), 'utf8'));

/** What the titles of tests cite, such as `endpoint 7`, each once. */
function cited(pattern: RegExp): string[] {
  const found = testFiles.flatMap((text) => [...text.matchAll(pattern)].map(([, number]) => number as string));
  return [...new Set(found)].sort();
}

/** The numbers of a numbered list. */
const numbersIn = (text: string): string[] => [...text.matchAll(/^(\d+)\. /gm)].map(([, number]) => number as string);

describe('docs/api.md has a place for what tests cite', () => {
  const endpoints = sectionsOf(API, 3);

  test('of every endpoint', () => {
    const titled = endpoints.map(({ title }) => /^Endpoint (\d+):/.exec(title)?.[1]);
    expect(titled).toEqual(Array.from({ length: 11 }, (_, i) => String(i + 1)));
    expect(titled).toEqual(expect.arrayContaining(cited(/\bendpoint (\d+)\b/g)));
  });

  test.each(['pagination', 'feed', 'authentication', 'versioning'])('of every %s rule', (about) => {
    const title = `${about[0]?.toUpperCase()}${about.slice(1)} rules`;
    const numbers = cited(new RegExp(`\\b${about} rule (\\d+)\\b`, 'g'));
    expect(numbers).not.toEqual([]);
    expect(numbersIn(sectionOf(API, title).text)).toEqual(expect.arrayContaining(numbers));
  });

  test('of every rule of the aggregate', () => {
    const numbers = cited(/\(endpoint 11, rule (\d+)\)/g);
    expect(numbers).not.toEqual([]);
    expect(numbersIn(endpoints.at(-1)?.text ?? '')).toEqual(expect.arrayContaining(numbers));
  });

  test('of the field notes and the limits', () => {
    expect(sectionOf(API, 'Field notes').text).toMatch(/\S/);
    expect(sectionOf(API, 'Limits').text).toMatch(/\S/);
  });
});
