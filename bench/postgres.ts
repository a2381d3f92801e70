import { type DelayingProxy, delayingProxy, type Traffic } from './delaying-proxy.ts';
import { keepFigures, MACHINE, median, print, rowsText } from './figures.ts';
import { type Bench, openBench, SYNC, type Usage } from './measure.ts';
import { QUOTA, quotaUse, type RefreshCost, refreshCosts, takeoverMs } from './postgres-cases.ts';
import { type BenchServer, openBenchServer } from './postgres-server.ts';

/**
 * The cost of a mirror in PostgreSQL, compared with the same syncs into SQLite in the same run. Prints tables, and
 * saves them in `docs/benchmarks.md` with `--keep`. Arguments: thousands of rows (default 100), repetitions (default
 * 1), then one-way network delays in ms (default 0 and 5); a round trip takes twice as long.
 */
const numbers = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const [thousands = 100, rounds = 1, ...delays] = numbers.map(Number);
const DELAYS_MS = delays.length > 0 ? delays : [0, 5];

/** One run of a sync. */
interface Measured extends Usage {
  readonly serverSeconds: number;
  readonly traffic: Traffic | null;
}

type MeasuredOf = Readonly<Record<'first' | 'idle' | 'changed', Measured>>;

interface Place {
  readonly name: string;
  /** A first sync, one without changes, and one after one row in a hundred has changed. */
  measure(): Promise<MeasuredOf>;
}

async function threeSyncs(bench: Bench, sync: () => Promise<Measured>): Promise<MeasuredOf> {
  const first = await sync();
  const idle = await sync();
  await bench.change();
  return { first, idle, changed: await sync() };
}

const inFile = (bench: Bench): Place => ({
  name: 'SQLite',
  async measure() {
    const measured = await threeSyncs(bench, async () => ({
      ...(await bench.run(SYNC)),
      serverSeconds: 0,
      traffic: null,
    }));
    bench.clear();
    return measured;
  },
});

const inServer = (bench: Bench, server: BenchServer, proxy: DelayingProxy, delayMs: number): Place => ({
  name: `PostgreSQL, ${delayMs} ms each way`,
  async measure() {
    const schema = 'bench';
    const db = `${proxy.url}?schema=${schema}`;
    const measured = await threeSyncs(bench, async () => {
      proxy.traffic();
      const before = server.cpuSeconds();
      const usage = await bench.run(SYNC, db);
      return { ...usage, serverSeconds: server.cpuSeconds() - before, traffic: proxy.traffic() };
    });
    await server.ask(`drop schema ${schema} cascade`);
    return measured;
  },
});

const SYNCS = { first: 'the first', idle: 'nothing changed', changed: '1 % changed' } as const;

function lineOf(place: string, which: keyof MeasuredOf, all: readonly MeasuredOf[], inSqlite: readonly MeasuredOf[]) {
  const of = (value: (measured: Measured) => number): number => median(all.map((each) => value(each[which])));
  const ratio = median(all.map((each, i) => each[which].cpuSeconds / (inSqlite[i]?.[which].cpuSeconds ?? Number.NaN)));
  const perPage = (value: (traffic: Traffic) => number): string => {
    const found = of(({ traffic, requests }) => (traffic === null ? Number.NaN : value(traffic) / requests));
    return Number.isNaN(found) ? '' : found.toFixed(1);
  };
  return `| ${[
    `${SYNCS[which]}: ${place}`,
    of(({ cpuSeconds }) => cpuSeconds).toFixed(2),
    ratio.toFixed(2),
    of(({ serverSeconds }) => serverSeconds).toFixed(2),
    of(({ wallSeconds }) => wallSeconds).toFixed(2),
    which === 'first' ? of(({ wallSeconds }) => (thousands * 1000) / wallSeconds).toFixed(0) : '',
    of(({ peakMiB }) => peakMiB).toFixed(0),
    of(({ requests }) => requests),
    perPage(({ roundTrips }) => roundTrips),
    perPage(({ bytesToServer }) => bytesToServer / 1024),
    perPage(({ bytesToClient }) => bytesToClient / 1024),
  ].join(' | ')} |`;
}

const HEAD = `| \`sync\` | client CPU s | of SQLite's | server CPU s | wall s | rows/s | peak MiB | pages | round trips a page | KiB to the server a page | KiB back a page |
|---|---|---|---|---|---|---|---|---|---|---|`;

async function printCosts(bench: Bench, server: BenchServer): Promise<void> {
  const proxies = await Promise.all(DELAYS_MS.map((delayMs) => delayingProxy(server.url, delayMs)));
  const places = [inFile(bench), ...proxies.map((proxy, i) => inServer(bench, server, proxy, DELAYS_MS[i] as number))];
  const found = places.map((): MeasuredOf[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, place] of places.entries()) found[i]?.push(await place.measure());
  print(HEAD);
  for (const which of ['first', 'idle', 'changed'] as const)
    for (const [i, { name }] of places.entries()) print(lineOf(name, which, found[i] ?? [], found[0] ?? []));
  await Promise.all(proxies.map((proxy) => proxy.close()));
}

async function printTakeovers(bench: Bench, server: BenchServer): Promise<void> {
  const times: number[] = [];
  const schema = 'takeover';
  for (let i = 0; i < TAKEOVERS; i++) {
    times.push(await takeoverMs(bench, SYNC, `${server.url}?schema=${schema}`));
    await server.ask(`drop schema ${schema} cascade`);
  }
  const [least = 0, most = 0] = [Math.min(...times), Math.max(...times)];
  print(`
After a process was killed, another one that keeps trying takes over within ${median(times).toFixed(0)} ms (${least.toFixed(0)} to ${most.toFixed(0)}, ${TAKEOVERS} times).`);
}

async function printRefreshes(bench: Bench, server: BenchServer): Promise<void> {
  const schema = 'replica';
  const sync = (db: string) => bench.run(SYNC, db);
  const costs = await refreshCosts(bench, server, sync, `${server.url}?schema=${schema}`);
  await server.ask(`drop schema ${schema} cascade`);
  const secondsOf = ({ clientSeconds, serverSeconds }: RefreshCost): number => clientSeconds + serverSeconds;
  const whole = costs[0] === undefined ? Number.NaN : secondsOf(costs[0]);
  print(`
| refresh of a replica | rows read | client CPU s | server CPU s | both, of a new replica | wall s |
|---|---|---|---|---|---|`);
  for (const cost of costs) {
    const { what, rows, clientSeconds, serverSeconds, wallSeconds } = cost;
    const seconds = [clientSeconds, serverSeconds].map((each) => each.toFixed(2));
    const share = `${((100 * secondsOf(cost)) / whole).toFixed(1)} %`;
    print(`| ${[what, rows, ...seconds, share, wallSeconds.toFixed(2)].join(' | ')} |`);
  }
}

const TAKEOVERS = 5;

async function printQuota(server: BenchServer): Promise<void> {
  print(`
| processes, one quota in a row | used of ${QUOTA} in each window | refused (429) | round trips a request |
|---|---|---|---|`);
  for (const processes of [1, 4, 8]) {
    const { accepted, refused, roundTripsPerRequest } = await quotaUse(server.url, processes);
    print(`| ${[processes, accepted.join(', '), refused, roundTripsPerRequest.toFixed(1)].join(' | ')} |`);
  }
}

const server = await openBenchServer();
const bench = await openBench({ thousands });
try {
  print(`${MACHINE}, ${server.version} on the same machine; medians of ${rounds}; ${rowsText(thousands)}\n`);
  await printCosts(bench, server);
  await printRefreshes(bench, server);
  await printTakeovers(bench, server);
  await printQuota(server);
} finally {
  bench.close();
  await server.close();
}
const LEGEND = `Measured by \`npm run bench:postgres\` with the number of thousands of rows: the same syncs into SQLite and into
PostgreSQL, as whole processes in turn. A page is a request to the service. A proxy between client and server counts the
bytes and delays them; with 5 ms each way, a round trip takes 10. A round trip is counted when a client that has all its
answers sends again. The server doesn't wait for the disk (\`fsync=off\`), as SQLite doesn't either. "Their
edges" are replaced: with those that go, almost 2 % of the rows change.`;
keepFigures(`## ${rowsText(thousands)} in PostgreSQL`);
keepFigures('# What PostgreSQL costs', LEGEND);
