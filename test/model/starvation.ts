import fc from 'fast-check';
import { CATALOGUE, type CollectionName } from '../../src/streams/catalogue.ts';
import { LIST_PATHS } from '../support/catalogue.ts';
import { actions, applyAction } from './actions.ts';
import { execute, putColumn } from './environment.ts';
import type { Simulation } from './simulation.ts';
import { HOUR, type World } from './world.ts';

/** What keeps a run with few requests from reading everything (R6). */
export interface Starvation {
  /** The list of the first environment that always answers 500. */
  readonly broken: string;
  /**
   * `expiry`: instead, the columns of both environments are long lists whose cursors expire after each run, and only
   * those of the second fit into a run. `history`: instead, the first environment has a history longer than a run.
   */
  readonly fault: 'error' | 'expiry' | 'history';
  /** How many requests a failing page costs. */
  readonly tries: number;
  readonly maxRequests: number;
  readonly limitedBy: 'budget' | 'quota';
  readonly concurrency: number;
  readonly changes: readonly Parameters<typeof applyAction>[1][];
}

export const starvations: fc.Arbitrary<Starvation> = fc.record({
  broken: fc.constantFrom(...LIST_PATHS),
  fault: fc.constantFrom('error' as const, 'expiry' as const, 'history' as const),
  tries: fc.integer({ min: 1, max: 12 }),
  maxRequests: fc.integer({ min: 6, max: 14 }),
  limitedBy: fc.constantFrom('budget' as const, 'quota' as const),
  concurrency: fc.integer({ min: 1, max: 3 }),
  changes: fc.array(actions('reported'), { maxLength: 6 }),
});

const PAGE_SIZE = 5;
const RUNS = 40;
const CHANGES_AT = 24;
/** The run at which malformed rows are repaired without a report (R20). */
const REPAIRED_AT = 28;

/** Every stream but the scores, which are read once an hour. */
const ONLY: readonly CollectionName[] = CATALOGUE.filter(({ hourly, optional }) => !hourly && !optional).map(
  ({ name }) => name,
);

/** After these hourly runs the second environment must be mirrored, including changes made 16 runs before the end. */
export async function runStarved(
  { world, mirrored }: Simulation,
  { broken, fault, tries, changes, limitedBy, ...options }: Starvation,
): Promise<void> {
  if (fault === 'error') world.failing = { path: `e1/${broken}`, tries };
  if (fault === 'expiry') lengthenColumns(world, options.maxRequests);
  if (fault === 'history') lengthenHistory(world, options.maxRequests);
  world.limitedBy = limitedBy;
  for (let run = 0; run < RUNS; run++) {
    if (fault === 'expiry') for (const id of ['e1', 'e2']) world.listEpochs.set(`${id}/columns`, run);
    await mirrored.sync({
      ...options,
      pageSize: PAGE_SIZE,
      only: fault === 'history' ? [...ONLY, 'test_executions'] : ONLY,
    });
    world.advance(HOUR);
    if (run === CHANGES_AT) for (const change of changes) applyAction(world, change, 'e2');
    if (run === REPAIRED_AT) world.environment('e2').malformed.clear();
  }
}

/** Gives the first environment more columns than a run can read, and the second as many as fit into a run. */
function lengthenColumns(world: World, maxRequests: number): void {
  const pages = { e1: maxRequests, e2: maxRequests - 5 };
  for (const [id, count] of Object.entries(pages))
    for (let n = 0; n < count * PAGE_SIZE; n++) putColumn(world.environment(id), `a0.long${n}`, 'a0');
}

function lengthenHistory(world: World, maxRequests: number): void {
  for (let n = 0; n < maxRequests * PAGE_SIZE; n++) {
    const start_time = new Date(world.nowMs - n * HOUR * 1000).toISOString();
    execute(world.environment('e1'), 't0', `long${n}`, { start_time });
  }
}
