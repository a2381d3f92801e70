import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

const FIGURES = 'docs/benchmarks.md';

export const MACHINE = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;

export const rowsText = (thousands: number): string =>
  thousands % 1000 === 0 ? `${thousands / 1000} million rows` : `${thousands} thousand rows`;

const printed: string[] = [];

/** Prints a line of the figures. */
export function print(line: string): void {
  printed.push(line);
  console.log(line);
}

/** With `--keep`, replaces what is under the heading, `# …` or `## …`, by the legend and what was printed since. */
export function keepFigures(heading: string, legend?: string): void {
  const figures = [legend, printed.splice(0).join('\n')].filter(Boolean).join('\n\n');
  if (!process.argv.includes('--keep')) return;
  const parts = readFileSync(FIGURES, 'utf8').split(/^(?=##? )/m);
  const isOwn = (part: string): boolean => part.startsWith(`${heading}\n`);
  const own = `${heading}\n\n${figures}`;
  const kept = parts.some(isOwn) ? parts.map((part) => (isOwn(part) ? own : part)) : [...parts, own];
  writeFileSync(FIGURES, kept.map((part) => `${part.trim()}\n`).join('\n'));
}

/** The cell that says whether a bound holds, empty without a bound. If it does not, the process exits 1. */
export function verdict(holds: boolean | null): string {
  if (holds === false) process.exitCode = 1;
  return holds === null ? '' : holds ? 'yes' : 'NO';
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
