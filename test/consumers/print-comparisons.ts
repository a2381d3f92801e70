import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { Comparison } from './consumer.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file to which tests add a line of JSON for each comparison. */
    comparisons: string;
  }
}

/** Prints after all tests what each tool read. */
export default function printComparisons(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-consumers-'));
  const path = join(folder, 'comparisons.jsonl');
  writeFileSync(path, '');
  project.provide('comparisons', path);
  return () => {
    const lines = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    const read = lines.map((line) => JSON.parse(line) as Comparison);
    console.log(['tool | version | what was read | equal | rows', ...read.map(rowOf).sort()].join('\n'));
    rmSync(folder, { recursive: true });
  };
}

const rowOf = ({ tool, version, what, equal, of, rows }: Comparison): string =>
  [tool, version, what, `${equal} of ${of}`, rows].join(' | ');
