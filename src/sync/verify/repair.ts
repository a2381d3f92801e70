import { firstChunk } from '../../core/chunk.ts';
import { type Context, type Options, timesOf } from '../../core/context.ts';
import { decodePage, joinKey } from '../../core/decode.ts';
import type { Commit, Destination } from '../../core/destination.ts';
import { isLive } from '../../core/difference.ts';
import { endsRun, SyncError } from '../../core/errors.ts';
import type { Instant } from '../../core/instant.ts';
import { bury, mend } from '../../core/mend.ts';
import { isHeld } from '../../core/shrink-guard.ts';
import type { Source } from '../../core/source.ts';
import type { RunStatus } from '../../core/state-store.ts';
import type { Stream } from '../../core/stream.ts';
import type { OpenMirror } from '../ports.ts';
import { markedStreams, syncStream } from '../sync-stream.ts';
import { createTally, type Tally } from '../tally.ts';
import { keysOf } from './compare-stream.ts';
import { stillDiffering } from './look-again.ts';
import { readPages, type Sight } from './sight.ts';
import type { Suspect } from './suspects.ts';
import type { Verification } from './verify.ts';

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
export interface Repaired {
  readonly run: number;
  /** Suspects that no longer differ. */
  readonly mended: ReadonlySet<Suspect>;
  /** Suspects that it read again and that differ still. */
  readonly open: ReadonlySet<Suspect>;
  /** Whether the rows of the environments were written. */
  readonly environments: boolean;
  readonly notRepaired: readonly string[];
  readonly error: SyncError | null;
}

type Examined = Verification['examined'][number];

/**
 * Writes what a verification found. Rows of feed streams come from fresh answers by id; for the others their own engine reads
 * again what is marked, or the whole snapshot. It is a run of its own in `sync_runs`, but one that reads no stream: the pass of
 * a run that was stopped goes on with the next sync (R6). Never throws a `SyncError`.
 */
export async function repair(ports: RepairPorts, options: Options, verification: Verification): Promise<Repaired> {
  const { mirror, source, clock } = ports;
  const run = await mirror.state.beginRun(clock(), 'verify');
  const tally = createTally(() => {});
  const mended = new Set<Suspect>();
  const open = new Set<Suspect>();
  const notRepaired: string[] = [];
  const work: Work = { ports, options, run, tally, notRepaired, kept: new Set() };
  const { reconciled } = verification;
  let error: SyncError | null = null;
  try {
    if (reconciled !== null) await mirror.state.saveEnvironments(reconciled, run);
    for (const { id } of verification.environments) {
      const examined = verification.examined.filter((each) => each.environment.id === id);
      await repairEnvironment(work, id, examined);
      for (const each of examined)
        await attempt(work, each, async () => {
          const { equal, differing } = await partOf(work, each);
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
  await mirror.state.endRun({ id: run, pass: run }, { ...end, ...times });
  return { run, mended, open, environments: reconciled !== null, notRepaired, error };
}

function statusOf(error: SyncError | null, notRepaired: readonly string[]): RunStatus {
  if (error === null) return notRepaired.length === 0 ? 'done' : 'problems';
  return error.recovery === 'budget' ? 'stopped' : error.recovery === 'signal' ? 'interrupted' : 'problems';
}

interface Work {
  readonly ports: RepairPorts;
  readonly options: Options;
  readonly run: number;
  readonly tally: Tally;
  readonly notRepaired: string[];
  /** Extra rows that stay: they are held back, or too many (R14). */
  readonly kept: Set<Suspect>;
}

/** Feed streams first: what they change marks what follows them. */
async function repairEnvironment(work: Work, envId: string, examined: readonly Examined[]): Promise<void> {
  const destination = work.ports.mirror.destination(envId, work.run);
  const differing = examined.filter((each) => suspectsOf(each).length > 0);
  const feeds = differing.filter((each) => each.sight.stream.method === 'feed');
  for (const each of feeds) await attempt(work, each, () => repairRows(work, destination, each));
  for (const each of differing) if (each.sight.stream.method === 'marked') await markAnew(work, destination, each);
  for (const stream of work.ports.catalogue) {
    const own = differing.find((each) => each.sight.stream.name === stream.name);
    const follows = feeds.some(({ sight }) => sight.stream.marks.some((rule) => rule.stream === stream.name));
    const isRead = stream.method === 'marked' ? own !== undefined || follows : stream.method === 'snapshot' && own;
    const some = own ?? examined[0];
    if (!isRead || some === undefined) continue;
    const reading = { ...some, sight: { ...some.sight, stream } };
    await attempt(work, reading, () => readAnew(work, destination, reading));
  }
}

/** A stream that fails stops no other (R9). */
async function attempt({ notRepaired }: Work, of: Examined, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof SyncError) || endsRun(error)) throw error;
    notRepaired.push(`${placeOf(of)}: ${(error as SyncError).message}`);
  }
}

function placeOf({ environment, sight }: Examined): string {
  return `${environment.name}, ${sight.stream.name}`;
}

/** What the source changed since is the next sync's to bring, but where the whole is read anyway. */
export function suspectsOf({ sight, differences, possible, pending, compared }: Examined): Suspect[] {
  const { method } = sight.stream;
  const brought = method === 'feed' ? [] : [...compared.pending.listed.values(), ...pending];
  const untold = brought.filter(({ cause }) => method === 'snapshot' || cause === 'untold');
  return [...differences, ...possible, ...untold].filter(({ key, heldBack }) => key.length > 0 && !heldBack);
}

/** Rows of a feed stream, asked for by id a chunk at a time. It ends: each turn asks for one chunk of what is left. */
async function repairRows(work: Work, destination: Destination, examined: Examined): Promise<void> {
  const { sight, compared } = examined;
  const { stream, holding } = sight;
  const extra = suspectsOf(examined).flatMap(({ what, key }) => (what === 'extra' ? [key[0] as string] : []));
  // Nobody has asked yet about those that were not looked at again (R14).
  const heldBack = await holding.heldBack(
    stream.name,
    extra.map((id) => [id]),
  );
  const mayGo = new Set(extra.filter((id) => !heldBack.has(id)));
  const going = mayGo.size + compared.suspects.beyond.extra;
  if (isHeld(stream, { live: await holding.count(stream), going }, contextOf(work))) {
    mayGo.clear();
    work.notRepaired.push(
      `${placeOf(examined)}: ${going} rows would go, more than half: if the source is right, run \`obsync sync --full --allow-shrink\``,
    );
  }
  for (const suspect of suspectsOf(examined))
    if (suspect.what === 'extra' && !mayGo.has(suspect.key[0] ?? '')) work.kept.add(suspect);
  let ids = idsOf(suspectsOf(examined).filter((suspect) => !work.kept.has(suspect)));
  while (ids.length > 0) {
    const chunk = firstChunk(stream.idsParameter ?? 'ids', ids);
    ids = ids.slice(chunk.length);
    await repairChunk(work, destination, { sight, ids: chunk, mayGo });
  }
}

async function repairChunk(
  work: Work,
  destination: Destination,
  { sight, ids, mayGo }: { sight: Sight; ids: readonly string[]; mayGo: ReadonlySet<string> },
): Promise<void> {
  const { stream } = sight;
  const marking = await markedStreams(stream, destination);
  const shown = new Set<string>();
  const commit = async (change: Commit): Promise<void> =>
    work.tally.count(await destination.commit(stream, change, marking));
  for (const variant of stream.variants) {
    await readPages(
      sight,
      { ...variant, [stream.idsParameter ?? 'ids']: ids },
      {
        page: async (page) => {
          const decoded = decodePage(stream, page.items, sight.context());
          for (const key of keysOf(decoded)) shown.add(joinKey(key));
          const held = await destination.held(
            stream,
            decoded.rows.map(({ key }) => key),
          );
          const checkpoint = await destination.load(stream.name);
          await commit(mend({ stream, checkpoint, page, decoded, held, marking }, contextOf(work)));
        },
      },
    );
  }
  const gone = ids.filter((id) => mayGo.has(id) && !shown.has(id)).map((id) => [id]);
  const held = [...(await destination.held(stream, gone)).values()].filter(isLive);
  const at = work.ports.source.serverTime() ?? work.ports.clock();
  if (held.length > 0)
    await commit(bury({ stream, checkpoint: await destination.load(stream.name), marking }, held, at));
}

/** What differs is marked: the engine asks for it again (R18, R22). */
async function markAnew(work: Work, destination: Destination, examined: Examined): Promise<void> {
  const { stream } = examined.sight;
  const marks = idsOf(suspectsOf(examined)).map((id) => ({ stream: stream.name, id }));
  const checkpoint = await destination.load(stream.name);
  work.tally.count(await destination.commit(stream, { checkpoint, marks }, new Set()));
}

function idsOf(suspects: readonly Suspect[]): readonly string[] {
  return [...new Set(suspects.map(({ key }) => key[0] as string))].sort();
}

/** One stream by the sync's own engine: what is marked of it, or all of a snapshot. One never synced is left to a sync. */
async function readAnew(work: Work, destination: Destination, examined: Examined): Promise<void> {
  const { sight } = examined;
  const { stream } = sight;
  if (stream.method === 'marked' && (await destination.load(stream.name)).scanEndedPass === null) return;
  await syncStream({
    stream,
    source: work.ports.source,
    destination,
    prefix: [sight.envId],
    tally: work.tally,
    concurrency: 1,
    context: () => contextOf(work, stream),
    continueOrStop: sight.continueOrStop,
  });
  const held = await destination.heldBack(stream);
  if (held > 0)
    work.notRepaired.push(
      `${placeOf(examined)}: ${held} removals are held back: let them go with \`obsync sync --allow-shrink\``,
    );
}

/** The hourly snapshot is read whatever the hour (R22). */
function contextOf({ ports, options, run }: Work, stream?: Stream): Context {
  return { run, pass: run, ...timesOf(ports.source), options: { ...options, full: stream?.hourly === true } };
}

/** The suspects, looked at once more: those that no longer differ, and the others. */
async function partOf({ kept }: Work, examined: Examined): Promise<Record<'equal' | 'differing', Suspect[]>> {
  const suspects = suspectsOf(examined).filter((suspect) => !kept.has(suspect));
  const differing = await stillDiffering(examined.sight, suspects);
  const parted = Map.groupBy(suspects, ({ key }) => differing.has(joinKey(key)));
  // Edges of a column that the next sync brings wait for it.
  const isRead = ({ cause }: Suspect): boolean => cause === null || examined.sight.stream.method === 'snapshot';
  return { equal: parted.get(false) ?? [], differing: (parted.get(true) ?? []).filter(isRead) };
}
