import { parseArgs } from 'node:util';
import { timetable } from '../src/core/schedule/schedule.ts';
import { addSeconds, type Instant, instantOfMs, secondsBetween } from '../src/core/time/instant.ts';
import { nextTick } from '../src/sync/schedule-cron.ts';
import { median, quantile } from './figures.ts';
import { measureCosts, type WorkCosts } from './workers-cost.ts';

/*
 * Simulates ten thousand accounts, synced every hour by 1 to 8 workers, on a virtual clock: the scheduling is the
 * program's own code, and the costs are measured on a real server beforehand.
 */

const { values } = parseArgs({
  options: {
    costs: { type: 'string' },
    accounts: { type: 'string', default: '10000' },
    hours: { type: 'string', default: '3' },
    'round-trip': { type: 'string', default: '0.1' },
    cores: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '8' },
  },
});
const ACCOUNTS = Number(values.accounts);
const HOURS = Number(values.hours);
/** Seconds until a service answers a request. */
const ROUND_TRIP = Number(values['round-trip']);
/** Cores of each worker's host. */
const CORES = Number(values.cores);
const CONCURRENCY = Number(values.concurrency);

const START: Instant = '2026-11-20T00:30:00.000000Z';

/** How often a worker with free slots polls for due jobs. */
const POLL_SECONDS = 2;

interface SimulatedEnvironment {
  readonly account: SimulatedAccount;
  readonly cron: string;
  lastStart: Instant;
  dueSeconds: number;
  turn: number;
  isQueued: boolean;
}

interface SimulatedAccount {
  readonly environments: SimulatedEnvironment[];
  isBusy: boolean;
  /** Those in the queue, lowest turn first. */
  waiting: SimulatedEnvironment[];
}

/** `take` removes the element with the lowest number; of several, the one that was added first. */
class SortedQueue<Element> {
  /** The next one is the last, so taking it moves no other. */
  readonly #entries: { readonly at: number; readonly element: Element }[] = [];

  get next(): number {
    return this.#entries.at(-1)?.at ?? Number.POSITIVE_INFINITY;
  }

  add(at: number, element: Element): void {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    this.#entries.splice(low, 0, { at, element });
  }

  take(): Element | null {
    return this.#entries.pop()?.element ?? null;
  }
}

interface SimulationResult {
  readonly syncs: number;
  /** Seconds from a sync's due time to its start. */
  readonly waits: number[];
  /** The same for accounts with one environment. */
  readonly waitsOfSmall: number[];
  /** The largest age of any environment at any moment: from the start of its last sync to the end of the next one. */
  readonly worstAge: number;
  readonly busySeconds: number;
}

interface Setting {
  readonly workers: number;
  readonly accounts: readonly SimulatedAccount[];
  readonly syncSeconds: number;
}

/** Simulates the workers for a few hours. */
function simulate({ workers, accounts, syncSeconds }: Setting): SimulationResult {
  const environments = accounts.flatMap((account) => account.environments);
  const due = new SortedQueue<SimulatedEnvironment>();
  for (const environment of environments) schedule(environment, due);
  const heads = new SortedQueue<SimulatedAccount>();
  const ends = new SortedQueue<SimulatedEnvironment>();
  const end = msOf(START) / 1000 + HOURS * 3600;
  const played = { syncs: 0, waits: [] as number[], waitsOfSmall: [] as number[], worstAge: 0, busySeconds: 0 };
  let free = workers * CONCURRENCY;
  let look = msOf(START) / 1000;
  for (let now = look; now < end; now = Math.min(ends.next, look)) {
    while (ends.next <= now) {
      const environment = ends.take() as SimulatedEnvironment;
      free++;
      environment.account.isBusy = false;
      played.worstAge = Math.max(played.worstAge, secondsBetween(environment.lastStart, instantOfMs(now * 1000)));
      environment.lastStart = addSeconds(instantOfMs(now * 1000), -syncSeconds);
      schedule(environment, due);
      offer(environment.account, heads);
    }
    if (look <= now) {
      queueDue(now, due, heads);
      look += POLL_SECONDS;
    }
    while (free > 0) {
      const account = heads.take();
      if (account === null) break;
      const environment = account.waiting.shift() as SimulatedEnvironment;
      environment.isQueued = false;
      account.isBusy = true;
      free--;
      played.syncs++;
      played.busySeconds += syncSeconds;
      const wait = now - environment.dueSeconds;
      played.waits.push(wait);
      if (account.environments.length === 1) played.waitsOfSmall.push(wait);
      ends.add(now + syncSeconds, environment);
    }
  }
  return played;
}

/** When it is due next, as the program decides it. */
function schedule(environment: SimulatedEnvironment, due: SortedQueue<SimulatedEnvironment>): void {
  const { cron, lastStart } = environment;
  const listed = { id: 'e', name: 'e', cron };
  const rules = { cron: null, delaySeconds: 0, environments: [], together: false };
  const clock = { now: lastStart, next: nextTick };
  const [scheduled] = timetable([listed], rules, new Map([['e', lastStart]]), clock);
  environment.dueSeconds = msOf(scheduled?.due ?? lastStart) / 1000;
  // Like `queuePosition` of the program.
  const together = environment.account.environments.filter(
    (other) => other !== environment && other.dueSeconds === environment.dueSeconds,
  );
  environment.turn = environment.dueSeconds + 60 * together.length;
  due.add(environment.dueSeconds, environment);
}

/** Queues what is due. */
function queueDue(now: number, due: SortedQueue<SimulatedEnvironment>, heads: SortedQueue<SimulatedAccount>): void {
  const changed = new Set<SimulatedAccount>();
  while (due.next <= now) {
    const environment = due.take() as SimulatedEnvironment;
    const { account } = environment;
    environment.isQueued = true;
    const wasEmpty = account.waiting.length === 0;
    account.waiting.push(environment);
    account.waiting.sort((a, b) => a.turn - b.turn);
    if (wasEmpty) changed.add(account);
  }
  for (const account of changed) offer(account, heads);
}

/** One job of an account at a time. */
function offer(account: SimulatedAccount, heads: SortedQueue<SimulatedAccount>): void {
  const [first] = account.waiting;
  if (!account.isBusy && first !== undefined) heads.add(first.turn, account);
}

function msOf(instant: Instant): number {
  return Date.parse(instant);
}

/** Accounts of one environment, the first of `large` of them; `spread` gives each account its own minute. */
function makeAccounts({ spread, large }: { spread: boolean; large: number }): SimulatedAccount[] {
  return Array.from({ length: ACCOUNTS }, (_, i) => {
    const account: SimulatedAccount = { environments: [], isBusy: false, waiting: [] };
    for (let n = 0; n < (i === 0 ? large : 1); n++) {
      const cron = `${spread ? i % 60 : 0} * * * *`;
      account.environments.push({ account, cron, lastStart: START, dueSeconds: 0, turn: 0, isQueued: false });
    }
    return account;
  });
}

function report(costs: WorkCosts): void {
  // At worst the requests of a sync are sequential; threads share the cores of their host.
  const waiting = costs.sync.requests * ROUND_TRIP;
  const syncSeconds = Math.max(waiting + costs.sync.cpuSeconds, (costs.sync.cpuSeconds * CONCURRENCY) / CORES);
  console.log(
    JSON.stringify({ costs, roundTrip: ROUND_TRIP, cores: CORES, concurrency: CONCURRENCY, syncSeconds }, null, 2),
  );
  const rows = [];
  for (const [scene, shape] of [
    ['all due at one minute', { spread: false, large: 1 }],
    ['spread over the hour', { spread: true, large: 1 }],
    ['one account with 1000 environments', { spread: false, large: 1000 }],
  ] as const)
    for (const workers of [1, 2, 4, 8]) {
      const { syncs, waits, waitsOfSmall, worstAge, busySeconds } = simulate({
        workers,
        accounts: makeAccounts(shape),
        syncSeconds,
      });
      const perSecond = syncs / (HOURS * 3600);
      rows.push({
        scene,
        workers,
        'syncs/h': Math.round(perSecond * 3600),
        'busy %': Math.round((100 * busySeconds) / (workers * CONCURRENCY * HOURS * 3600)),
        'wait p50 s': Math.round(median(waits)),
        'wait p99 s': Math.round(quantile(waits, 0.99)),
        'worst wait s': Math.round(quantile(waits, 1)),
        'worst wait, small s': Math.round(quantile(waitsOfSmall, 1)),
        'worst age min': Math.round(worstAge / 60),
        'statements/s': Math.round(workers * costs.idle.statementsPerSecond + perSecond * costs.jobs.statementsEach),
        'transactions of syncs/s': Math.round(perSecond * costs.sync.transactions),
        connections: workers * (3 + CONCURRENCY * costs.sync.connections),
      });
    }
  console.table(rows);
}

report(values.costs === undefined ? await measureCosts() : JSON.parse(values.costs));
