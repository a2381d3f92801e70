import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keepFigures, MACHINE, print, rowsText } from './figures.ts';
import { serve } from './measure.ts';
import { differences, serviceRows } from './peers/compare.ts';
import { installPrograms, type Place, PROGRAMS, type Program, start, usageOf } from './peers/programs.ts';
import { outcome, SITUATIONS } from './peers/situations.ts';

/**
 * obsync and the programs that a reader may use instead do the same work: what it costs, and whether the result is
 * right. Needs python3 and PyPI. Arguments: thousands of rows (default 100), `--only NAME` to run the programs whose
 * name contains it, and `--keep` to save the figures in `docs/benchmarks.md`.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: '' }, keep: { type: 'boolean', default: false } },
});
const thousands = Number(positionals[0] ?? 100);
const programs = installPrograms(values.only);
if (values.keep && programs.length < PROGRAMS) throw new Error('--keep needs the figures of all programs');

/** Three syncs: into an empty folder, without a change, and after a change of one row in a hundred. */
async function measure(program: Program): Promise<void> {
  const { server, baseUrl } = await serve({ thousands });
  const place = { url: baseUrl, environment: 'bench', folder: mkdtempSync(join(tmpdir(), 'peers-')) };
  try {
    print(await lineOf(program, place, 'first'));
    print(await lineOf(program, place, 'nothing changed'));
    await fetch(`${baseUrl}/change`, { method: 'POST' });
    print(await lineOf(program, place, '1 % changed'));
  } finally {
    server.stdin?.end();
    rmSync(place.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function lineOf(program: Program, place: Place, what: string): Promise<string> {
  await requestsSoFar(place);
  const { code, errors } = await start(program, place).ended;
  if (code !== 0) return `| ${program.name} | ${what} | failed: ${errors.trim().split('\n').at(-1)} |`;
  const { wallSeconds, cpuSeconds, peakMiB, writtenMiB } = usageOf(place);
  const requests = await requestsSoFar(place);
  const wrong = differences(await serviceRows(place), program.rows(place));
  const figures = [wallSeconds.toFixed(2), cpuSeconds.toFixed(2), peakMiB.toFixed(0), writtenMiB.toFixed(1), requests];
  return `| ${[program.name, what, ...figures, wrong.length === 0 ? 'yes' : wrong.join('; ')].join(' | ')} |`;
}

/** The requests since the last call. */
async function requestsSoFar({ url }: Place): Promise<string> {
  return (await fetch(`${url}/requests`, { method: 'POST' })).text();
}

print(`${MACHINE}; ${rowsText(thousands)}\n`);
print(
  '| program | sync | wall s | CPU s | peak MiB | written MiB | requests | right |\n|---|---|---|---|---|---|---|---|',
);
for (const program of programs) await measure(program);
print(`\n| situation | ${programs.map(({ name }) => name).join(' | ')} |\n|---|${'---|'.repeat(programs.length)}`);
const right = new Map(programs.map((program) => [program, 0]));
for (const [name, situation] of Object.entries(SITUATIONS)) {
  const cells: string[] = [];
  for (const program of programs) {
    const wrong = await outcome(program, situation);
    if (wrong.length === 0) right.set(program, (right.get(program) ?? 0) + 1);
    else console.error(`${program.name}, ${name}: ${wrong.join('; ')}`);
    cells.push(wrong.length === 0 ? 'right' : '**wrong**');
  }
  print(`| ${name} | ${cells.join(' | ')} |`);
}
print(`| right of ${Object.keys(SITUATIONS).length} | ${[...right.values()].join(' | ')} |`);
const LEGEND = `By \`npm run bench:peers\`; [what each program gets wrong](why.md). One run, so compare within it. Written is what a
program passes to write calls, including those for sockets and pipes; peak is that of its largest process, and Singer
runs two. "Right" compares the rows with those that the service returns afterwards.`;
keepFigures('# Other programs', LEGEND);
