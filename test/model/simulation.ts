import { SyncError } from '../../src/core/errors.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { applyAction, applyActionLate } from './actions.ts';
import type { Command, SyncCommand } from './commands.ts';
import { restoreAsset } from './environment.ts';
import { expectedRows } from './expected-rows.ts';
import { type InvariantWatch, watchInvariants } from './invariants.ts';
import { repairAll } from './malformed.ts';
import type { OpenFile } from './mirror-files.ts';
import type { MakeTwin } from './mirror-twin.ts';
import { populate } from './populate.ts';
import { isFeed } from './request-log.ts';
import { SHORTEST_RETENTION } from './retention.ts';
import { createTestMirror, type TestMirror } from './test-mirror.ts';
import { Crash, createWorld, DAY, HOUR, type World } from './world.ts';

interface CommandResult {
  /** Null unless the command was a sync that ran to its end. */
  readonly summary: RunSummary | null;
  /** Whether the world stayed the same during the command. */
  readonly quiet: boolean;
}

/** A world, a mirror of it, and the invariants, which are checked after every commit. */
export interface Simulation extends Pick<InvariantWatch, 'violations' | 'autoSeconds'> {
  readonly world: World;
  readonly mirrored: TestMirror;
  perform(command: Command): Promise<CommandResult>;
  close(): Promise<void>;
}

/** Pass a second environment to keep runs going while the first one is unlisted. `makeTwin` adds a second mirror. */
export function simulate(ids: readonly string[], makeTwin?: MakeTwin, open?: OpenFile): Simulation {
  const world = createWorld(ids);
  populate(world.environment());
  world.environment().keepsTombstones = true;
  world.environment().redelivers = true;
  // PostgreSQL cannot store U+0000. A soft hyphen is the next best: many collations ignore it.
  if (makeTwin !== undefined) for (const env of world.environments.values()) env.keySuffix = '\u00ad';
  const mirrored = createTestMirror(world, HOUR, makeTwin, open);
  mirrored.isHeavy = () => world.log.length % 3 === 0;
  const invariants = watchInvariants(mirrored, world);
  const [before, after] = [mirrored.beforeCommit, mirrored.afterCommit];

  async function sync({ faults, maxRequests, only, prunes, ...options }: SyncCommand) {
    const stopped = new AbortController();
    let [crashed, quiet, commits] = [false, true, 0];
    const commitsByStream = new Map<CollectionName, number>();
    const crashIf = (now: boolean): void => {
      crashed ||= now;
      if (crashed) throw new Crash();
    };
    const wrongDates = faults.filter((fault) => fault.type === 'wrong-date');
    world.dateErrorMs = ({ number }) => HOUR * 1000 * (wrongDates.find(({ at }) => at === number)?.hours ?? 0);
    world.beforeRequest = ({ number, query }) => {
      crashIf(false);
      for (const fault of faults.filter((each) => each.type !== 'crash-in-stream' && each.at === number)) {
        if (fault.type === 'act') applyAction(world, fault.action);
        if (fault.type === 'act') quiet = false;
        // Waiting would age the bound of a feed that is already in the request.
        if (fault.type === 'delay' && !isFeed({ query })) world.advance(fault.days * DAY);
        if (fault.type === 'expire-cursors') world.cursorEpoch += 1;
        if (fault.type === 'abort') stopped.abort();
        if (fault.type === 'error' && number > 1) throw new SyncError(fault.recovery, `a fault: ${fault.recovery}`);
        crashIf(fault.type === 'crash');
      }
    };
    mirrored.beforeCommit = (observed) => {
      commits += 1;
      crashIf(faults.some((fault) => fault.type === 'crash-before-commit' && fault.at === commits));
      before(observed);
    };
    mirrored.afterCommit = (observed) => {
      after(observed);
      const ofStream = (commitsByStream.get(observed.stream) ?? 0) + 1;
      commitsByStream.set(observed.stream, ofStream);
      crashIf(
        faults.some(
          (each) => each.type === 'crash-in-stream' && each.stream === observed.stream && each.at === ofStream,
        ),
      );
      crashIf(faults.some((fault) => fault.type === 'crash-after-commit' && fault.at === commits));
    };
    const rows = (): string => JSON.stringify(expectedRows(world.environment('e1')));
    const rowsBefore = rows();
    const isFirstScan = mirrored.checkpoint('column_lineage').scanEndedCycle === null;
    const hadEdgeLag = world.environment('e1').edgeLag;
    const run = mirrored.sync({
      ...options,
      ...(prunes ? { retention: SHORTEST_RETENTION } : {}),
      signal: stopped.signal,
      ...(maxRequests ? { maxRequests } : {}),
      ...(only ? { only } : {}),
    });
    const summary = await run.catch((error) => {
      if (error instanceof Crash) return null;
      throw error;
    });
    if (summary !== null) invariants.endRun(summary, options);
    if (isFirstScan && (hadEdgeLag || world.environment('e1').edgeLag)) world.environment('e1').needsScan = true;
    world.beforeRequest = () => {};
    world.dateErrorMs = () => 0;
    return { summary, quiet: quiet && rows() === rowsBefore };
  }

  /**
   * Restores an asset only if the mirror saw its columns deleted. Otherwise the columns look unchanged to the mirror,
   * and nothing marks their edges (R18).
   */
  function restoreIfMirrored(n: number): void {
    const sql = `select 1 from assets a where env_id = 'e1' and id = ? and deletion = 'tombstone'
      and not exists (select 1 from columns c where c.env_id = a.env_id and c.asset_id = a.id and c.deleted_at is null)`;
    if (mirrored.rows(sql, `a${n}`).length > 0) restoreAsset(world.environment('e1'), `a${n}`);
  }

  return {
    world,
    mirrored,
    async perform(command) {
      const env = world.environment('e1');
      if (command.type === 'sync') return sync(command);
      if (command.type === 'act') applyAction(world, command.action);
      if (command.type === 'restore') restoreIfMirrored(command.n);
      if (command.type === 'act-late') applyActionLate(world, command.action);
      if (command.type === 'advance') world.advance(command.seconds);
      if (command.type === 'mirror-clock') mirrored.clockSkewMs = command.hours * HOUR * 1000;
      if (command.type === 'service-clock') world.nowMs += command.minutes * 60_000;
      if (command.type === 'dates') world.dates = command.dates;
      if (command.type === 'cache')
        world.cache = command.as === 'none' ? null : { sinceMs: world.nowMs, sendsAge: command.as === 'aged' };
      if (command.type === 'permission') {
        env.denied.delete(command.collection);
        env.notLive.delete(command.collection);
        if (command.as !== 'open') env[command.as].add(command.collection);
      }
      return { summary: null, quiet: true };
    },
    violations: invariants.violations,
    autoSeconds: invariants.autoSeconds,
    close: async () => mirrored.close(),
  };
}

/** Removes every fault and restriction, and lets late commits arrive. */
export function heal({ world }: Simulation): void {
  world.advance(2 * HOUR);
  const env = world.environment('e1');
  world.dates = 'always';
  world.cache = null;
  env.listed = true;
  env.denied.clear();
  env.notLive.clear();
  env.brokenScans.clear();
  env.brokenHistories.clear();
  repairAll(env);
}
