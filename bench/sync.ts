import { keepFigures, MACHINE, median, print, rowsText } from './figures.ts';
import { BARE_LOOP, type Bench, openBench, type Size, SYNC, type Usage } from './measure.ts';

/**
 * The cost of the commands as whole processes, compared with the fastest equivalent programs we know. Prints tables of
 * medians, and saves them in `docs/benchmarks.md` with `--keep`. Arguments: repetitions (default 3), then thousands of
 * rows (default 100 and 1000).
 */
const numbers = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const [rounds = 3, ...sizes] = numbers.map(Number);

interface Line {
  readonly what: string;
  readonly usages: readonly Usage[];
  readonly size?: Size;
  /** The baseline. */
  readonly against?: readonly Usage[];
}

async function measured(thousands: number): Promise<Line[]> {
  const bench = await openBench({ thousands });
  try {
    const rows: Record<string, Usage[]> = {};
    let size: Size | undefined;
    for (let round = 0; round < rounds; round++) {
      const used = await oneRound(bench);
      size = used.size;
      for (const [name, usage] of Object.entries(used.usages)) rows[name] = [...(rows[name] ?? []), usage];
    }
    const of = (name: string): readonly Usage[] => rows[name] ?? [];
    return [
      { what: 'fetch and parse alone', usages: of('parse') },
      { what: 'bare loop', usages: of('bare') },
      { what: '`sync`, the first', usages: of('first'), against: of('bare'), ...(size === undefined ? {} : { size }) },
      { what: '`sync`, nothing changed', usages: of('idle') },
      { what: '`sync`, 1 % changed', usages: of('changed') },
      { what: '`sync --full`, nothing changed', usages: of('full'), against: of('parse') },
      { what: '`verify`, all equal', usages: of('verify'), against: of('parse') },
      { what: '`sync` after a kill half-way', usages: of('resumed'), against: of('bare') },
    ];
  } finally {
    bench.close();
  }
}

async function oneRound(bench: Bench): Promise<{ usages: Record<string, Usage>; size: Size }> {
  const parse = await bench.run([BARE_LOOP, 'URL']);
  const bare = await bench.run([BARE_LOOP, 'URL', 'EMPTY', 'DB']);
  bench.clear();
  const first = await bench.run(SYNC);
  const size = bench.size();
  const idle = await bench.run(SYNC);
  const full = await bench.run([...SYNC, '--full']);
  const verify = await bench.run(['dist/main.js', 'verify', '--json', '--log-level', 'error']);
  await bench.change();
  const changed = await bench.run(SYNC);
  bench.clear();
  await bench.kill(SYNC, Math.floor(first.requests / 2));
  const resumed = await bench.run(SYNC);
  bench.clear();
  return { usages: { parse, bare, first, idle, full, verify, changed, resumed }, size };
}

function lineOf({ what, usages, size, against }: Line): string {
  const of = (field: keyof Usage): number => median(usages.map((usage) => usage[field]));
  const ratio = (field: keyof Usage): string =>
    against === undefined ? '' : median(usages.map((usage, i) => usage[field] / (against[i]?.[field] ?? 1))).toFixed(2);
  const written = of('writtenMiB');
  return `| ${[
    what,
    of('cpuSeconds').toFixed(2),
    ratio('cpuSeconds'),
    of('wallSeconds').toFixed(2),
    ratio('wallSeconds'),
    of('peakMiB').toFixed(0),
    written.toFixed(written < 10 ? 1 : 0),
    size === undefined ? '' : (written / size.fileMiB).toFixed(1),
    size === undefined ? '' : `${size.fileMiB.toFixed(0)} (${(size.fileMiB / size.vacuumedMiB).toFixed(2)})`,
    of('requests') || '',
  ].join(' | ')} |`;
}

const HEAD = `| what | CPU s | ratio | wall s | ratio | peak MiB | written MiB | of the file | file MiB (of vacuumed) | requests |
|---|---|---|---|---|---|---|---|---|---|`;

print(`${MACHINE}; medians of ${rounds}\n`);
for (const thousands of sizes.length > 0 ? sizes : [100, 1000]) {
  print(`${rowsText(thousands)}\n\n${HEAD}`);
  for (const line of await measured(thousands)) print(lineOf(line));
  print('');
}
const LEGEND = `Medians of \`npm run bench\`. Ratios compare with the bare loop; those of \`--full\` and \`verify\` with fetching and parsing
alone.`;
keepFigures('# What the commands cost', LEGEND);
