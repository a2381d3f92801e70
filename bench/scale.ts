import { keepFigures, MACHINE, print, verdict } from './figures.ts';
import { CASES, type Line, RUNS } from './scale-cases.ts';

/**
 * The costs that grow with the run log, with environments, with tests whose histories are read, and with long-lived
 * readers. Prints a table per case, and saves it in `docs/benchmarks.md` with `--keep`; exits 1 if a bound is exceeded.
 * Arguments name the cases to run, by default all.
 */
const decimals = (value: number): string => String(Number(value.toFixed(2)));

function lineOf({ what, size, used, bounds = [] }: Line): string {
  const { cpuSeconds, peakMiB, writtenMiB, requests } = used;
  return `| ${[
    what,
    size,
    cpuSeconds.toFixed(2),
    peakMiB.toFixed(0),
    writtenMiB.toFixed(writtenMiB < 10 ? 1 : 0),
    requests || '',
    bounds.map((bound) => `${bound.what}: ${decimals(bound.found)}, at most ${decimals(bound.most)}`).join('; '),
    verdict(bounds.length === 0 ? null : bounds.every(({ found, most }) => found <= most)),
  ].join(' | ')} |`;
}

const HEAD = `${MACHINE}; medians of ${RUNS} where a run does not take long

| what | size | CPU s | peak MiB | written MiB | requests | bound | holds |
|---|---|---|---|---|---|---|---|`;
const LEGEND = `How a run scales with the size of the run log, the number of environments and tests, and long-lived readers, measured by
\`npm run bench:scale\`. A bound is a ratio within one run of the benchmark, or a count.`;

const selected = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
keepFigures('# What grows', LEGEND);
for (const [name, { title, measure }] of Object.entries(CASES)) {
  if (selected.length > 0 && !selected.includes(name)) continue;
  print(HEAD);
  for (const line of await measure()) print(lineOf(line));
  keepFigures(`## ${title}`);
}
