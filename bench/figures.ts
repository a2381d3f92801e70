import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

const FIGURES = 'docs/benchmarks.md';

export const MACHINE = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;

/** Prints lines and records them. */
export function createPrinter(): { print(line: string): void; printed(): string } {
  const lines: string[] = [];
  return {
    print(line) {
      lines.push(line);
      console.log(line);
    },
    printed: () => lines.join('\n'),
  };
}

/** Saves figures under their heading, `# …` or `## …`, leaving all others unchanged. */
export function saveFigures(heading: string, figures: string): void {
  const parts = readFileSync(FIGURES, 'utf8').split(/^(?=##? )/m);
  const isOwn = (part: string): boolean => part.startsWith(`${heading}\n`);
  const own = `${heading}\n\n${figures}`;
  const kept = parts.some(isOwn) ? parts.map((part) => (isOwn(part) ? own : part)) : [...parts, own];
  writeFileSync(FIGURES, kept.map((part) => `${part.trim()}\n`).join('\n'));
}
