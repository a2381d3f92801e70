import { firstChunk } from '../core/chunk.ts';
import { type Context, type DecisionOptions, timesOf } from '../core/context.ts';
import { decodePage, joinKey } from '../core/decode.ts';
import type { Commit, Destination } from '../core/destination.ts';
import { isLive } from '../core/difference.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import { markAbsent, repairPage } from '../core/repair-page.ts';
import { isHeld } from '../core/shrink-guard.ts';
import type { Source } from '../core/source.ts';
import type { RunStatus } from '../core/state-store.ts';
import type { Stream } from '../core/stream.ts';
import type { OpenMirror } from '../sync/ports.ts';
import { createStreamCounter, type StreamCounter } from '../sync/stream-counter.ts';
import { findMarkableStreams, syncStream } from '../sync/sync-stream.ts';
import { keysOf } from './compare-stream.ts';
import { readPages, type StreamContext } from './contexts.ts';
import type { Mismatch } from './mismatches.ts';
import { stillDiffering } from './recheck.ts';
import type { VerifyResult } from './verify.ts';

export interface RepairPorts {
  /** Every collection that there is. */
  readonly catalogue: readonly Stream[];
  readonly source: Source;
  /** The mirror under its lock, from before it was verified. */
  readonly mirror: Pick<OpenMirror, 'state' | 'destination'>;
  /** The machine's clock; no decision depends on it (R1). */
  clock(): Instant;
}

/** What a repair has come to. */
export interface RepairResult {
  readonly run: number;
  /** Suspects that no longer differ. */
  readonly mended: ReadonlySet<Mismatch>;
  /** Suspects that it read again and that differ still. */
  readonly open: ReadonlySet<Mismatch>;
  /** Whether the rows of the environments were written. */
  readonly environments: boolean;
  readonly notRepaired: readonly string[];
  readonly error: SyncError | null;
}

type ExaminedOfRepair = VerifyResult['examined'][number];

/**
 * Writes what a verification found. Rows of feed streams come from fresh answers by id; for the others their own engine reads
 * again what is marked, or the whole snapshot. It is a run of its own in `sync_runs`, but one that reads no stream: the pass of
 * a run that was stopped goes on with the next sync (R6). Never throws a `SyncError`.
 */
export async function repair(
  ports: RepairPorts,
  decisionOptions: DecisionOptions,
  verifyResult: VerifyResult,
): Promise<RepairResult> {
  const { mirror, source, clock } = ports;
  const run = await mirror.state.beginRun(clock(), 'verify');
  const tally = createStreamCounter(() => {});
  const mended = new Set<Mismatch>();
  const open = new Set<Mismatch>();
  const notRepaired: string[] = [];
  const repairWork: RepairWork = { ports, options: decisionOptions, run, tally, notRepaired, kept: new Set() };
  const { reconciled } = verifyResult;
  let error: SyncError | null = null;
  try {
    if (reconciled !== null) await mirror.state.saveEnvironments(reconciled, run);
    for (const { id } of verifyResult.environments) {
      const examined = verifyResult.examined.filter((each) => each.environment.id === id);
      await repairEnvironment(repairWork, id, examined);
      for (const each of examined)
        await attempt(repairWork, each, async () => {
          const { equal, differing } = await partOf(repairWork, each);
          for (const suspect of equal) mended.add(suspect);
          for (const suspect of differing) open.add(suspect);
        });
    }
  } catch (failure) {
    if (!(failure instanceof SyncError)) throw failure;
    error = failure;
  }
  const { written: rows_written, deleted: rows_deleted, rejected: rows_rejected } = tally.total();
  const times = { server_time: source.serverTime(), ended_at: clock(), requests: source.requests() };
  const end = {
    status: statusOf(error, notRepaired),
    error: error?.message ?? null,
    rows_written,
    rows_deleted,
    rows_rejected,
  };
  await mirror.state.endRun({ id: run, cycle: run }, { ...end, ...times });
  return { run, mended, open, environments: reconciled !== null, notRepaired, error };
}

function statusOf(error: SyncError | null, notRepaired: readonly string[]): RunStatus {
  if (error === null) return notRepaired.length === 0 ? 'done' : 'problems';
  return error.recovery === 'budget' ? 'stopped' : error.recovery === 'signal' ? 'interrupted' : 'problems';
}

interface RepairWork {
  readonly ports: RepairPorts;
  readonly options: DecisionOptions;
  readonly run: number;
  readonly tally: StreamCounter;
  readonly notRepaired: string[];
  /** Extra rows that stay: they are held back, or too many (R14). */
  readonly kept: Set<Mismatch>;
}

/** Feed streams first: what they change marks what follows them. */
async function repairEnvironment(
  repairWork: RepairWork,
  envId: string,
  examined: readonly ExaminedOfRepair[],
): Promise<void> {
  const destination = repairWork.ports.mirror.destination(envId, repairWork.run);
  const differing = examined.filter((each) => suspectsOf(each).length > 0);
  const feeds = differing.filter((each) => each.sight.stream.method === 'feed');
  for (const each of feeds) await attempt(repairWork, each, () => repairRows(repairWork, destination, each));
  for (const each of differing)
    if (each.sight.stream.method === 'marked') await markAnew(repairWork, destination, each);
  for (const stream of repairWork.ports.catalogue) {
    const own = differing.find((each) => each.sight.stream.name === stream.name);
    const follows = feeds.some(({ sight }) => sight.stream.marks.some((rule) => rule.stream === stream.name));
    const isRead = stream.method === 'marked' ? own !== undefined || follows : stream.method === 'snapshot' && own;
    const some = own ?? examined[0];
    if (!isRead || some === undefined) continue;
    const reading = { ...some, sight: { ...some.sight, stream } };
    await attempt(repairWork, reading, () => readAnew(repairWork, destination, reading));
  }
}

/** A stream that fails stops no other (R9). */
async function attempt({ notRepaired }: RepairWork, of: ExaminedOfRepair, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof SyncError) || endsRun(error)) throw error;
    notRepaired.push(`${placeOf(of)}: ${(error as SyncError).message}`);
  }
}

function placeOf({ environment, sight }: ExaminedOfRepair): string {
  return `${environment.name}, ${sight.stream.name}`;
}

/** What the source changed since is the next sync's to bring, but where the whole is read anyway. */
export function suspectsOf({ sight, differences, possible, pending, compared }: ExaminedOfRepair): Mismatch[] {
  const { method } = sight.stream;
  const brought = method === 'feed' ? [] : [...compared.pending.listed.values(), ...pending];
  const untold = brought.filter(({ cause }) => method === 'snapshot' || cause === 'ambiguous');
  return [...differences, ...possible, ...untold].filter(({ key, heldBack }) => key.length > 0 && !heldBack);
}

/** Rows of a feed stream, asked for by id a chunk at a time. It ends: each turn asks for one chunk of what is left. */
async function repairRows(
  repairWork: RepairWork,
  destination: Destination,
  examinedOfRepair: ExaminedOfRepair,
): Promise<void> {
  const { sight, compared } = examinedOfRepair;
  const { stream, holding } = sight;
  const extra = suspectsOf(examinedOfRepair).flatMap(({ what, key }) => (what === 'extra' ? [key[0] as string] : []));
  // Nobody has asked yet about those that were not looked at again (R14).
  const heldBack = await holding.heldRemovals(
    stream.name,
    extra.map((id) => [id]),
  );
  const mayGo = new Set(extra.filter((id) => !heldBack.has(id)));
  const toRemove = mayGo.size + compared.suspects.beyond.extra;
  if (isHeld(stream, { live: await holding.count(stream), toRemove }, contextOf(repairWork))) {
    mayGo.clear();
    repairWork.notRepaired.push(
      `${placeOf(examinedOfRepair)}: ${toRemove} rows would go, more than half: if the source is right, run \`obsync sync --full --allow-shrink\``,
    );
  }
  for (const suspect of suspectsOf(examinedOfRepair))
    if (suspect.what === 'extra' && !mayGo.has(suspect.key[0] ?? '')) repairWork.kept.add(suspect);
  let ids = idsOf(suspectsOf(examinedOfRepair).filter((suspect) => !repairWork.kept.has(suspect)));
  while (ids.length > 0) {
    const chunk = firstChunk(stream.idsParameter, ids);
    ids = ids.slice(chunk.length);
    await repairChunk(repairWork, destination, { sight, ids: chunk, mayGo });
  }
}

async function repairChunk(
  repairWork: RepairWork,
  destination: Destination,
  { sight, ids, mayGo }: { sight: StreamContext; ids: readonly string[]; mayGo: ReadonlySet<string> },
): Promise<void> {
  const { stream } = sight;
  const markableStreams = await findMarkableStreams(stream, destination);
  const shown = new Set<string>();
  const commit = async (change: Commit): Promise<void> =>
    repairWork.tally.count(await destination.commit(stream, change, markableStreams));
  for (const variant of stream.scanQueries) {
    await readPages(
      sight,
      { ...variant, [stream.idsParameter]: ids },
      {
        page: async (page) => {
          const decoded = decodePage(stream, page.items, sight.context());
          for (const key of keysOf(decoded)) shown.add(joinKey(key));
          const existing = await destination.existing(
            stream,
            decoded.rows.map(({ key }) => key),
          );
          const checkpoint = await destination.load(stream.name);
          await commit(
            repairPage({ stream, checkpoint, page, decoded, existing, markableStreams }, contextOf(repairWork)),
          );
        },
      },
    );
  }
  const gone = ids.filter((id) => mayGo.has(id) && !shown.has(id)).map((id) => [id]);
  const held = [...(await destination.existing(stream, gone)).values()].filter(isLive);
  const at = repairWork.ports.source.serverTime() ?? repairWork.ports.clock();
  if (held.length > 0)
    await commit(markAbsent({ stream, checkpoint: await destination.load(stream.name), markableStreams }, held, at));
}

/** What differs is marked: the engine asks for it again (R18, R22). */
async function markAnew(
  repairWork: RepairWork,
  destination: Destination,
  examinedOfRepair: ExaminedOfRepair,
): Promise<void> {
  const { stream } = examinedOfRepair.sight;
  const marks = idsOf(suspectsOf(examinedOfRepair)).map((id) => ({ stream: stream.name, id }));
  const checkpoint = await destination.load(stream.name);
  repairWork.tally.count(await destination.commit(stream, { checkpoint, marks }, new Set()));
}

function idsOf(suspects: readonly Mismatch[]): readonly string[] {
  return [...new Set(suspects.map(({ key }) => key[0] as string))].sort();
}

/** One stream by the sync's own engine: what is marked of it, or all of a snapshot. One never synced is left to a sync. */
async function readAnew(
  repairWork: RepairWork,
  destination: Destination,
  examinedOfRepair: ExaminedOfRepair,
): Promise<void> {
  const { sight } = examinedOfRepair;
  const { stream } = sight;
  if (stream.method === 'marked' && (await destination.load(stream.name)).scanEndedCycle === null) return;
  await syncStream({
    stream,
    source: repairWork.ports.source,
    destination,
    prefix: [sight.envId],
    tally: repairWork.tally,
    concurrency: 1,
    context: () => contextOf(repairWork, stream),
    continueOrStop: sight.continueOrStop,
  });
  const held = await destination.heldRemovals(stream);
  if (held > 0)
    repairWork.notRepaired.push(
      `${placeOf(examinedOfRepair)}: ${held} removals are held back: let them go with \`obsync sync --allow-shrink\``,
    );
}

/** The hourly snapshot is read whatever the hour (R22). */
function contextOf({ ports, options, run }: RepairWork, stream?: Stream): Context {
  return { run, cycle: run, ...timesOf(ports.source), options: { ...options, full: stream?.hourly === true } };
}

/** The suspects, looked at once more: those that no longer differ, and the others. */
async function partOf(
  { kept }: RepairWork,
  examinedOfRepair: ExaminedOfRepair,
): Promise<Record<'equal' | 'differing', Mismatch[]>> {
  const suspects = suspectsOf(examinedOfRepair).filter((suspect) => !kept.has(suspect));
  const differing = await stillDiffering(examinedOfRepair.sight, suspects);
  const parted = Map.groupBy(suspects, ({ key }) => differing.has(joinKey(key)));
  // Edges of a column that the next sync brings wait for it.
  const isRead = ({ cause }: Mismatch): boolean =>
    cause === null || examinedOfRepair.sight.stream.method === 'snapshot';
  return { equal: parted.get(false) ?? [], differing: (parted.get(true) ?? []).filter(isRead) };
}
