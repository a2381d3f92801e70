import type { Checkpoint } from '../core/checkpoint.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { isUnsynced } from '../core/pending.ts';
import type { Stream } from '../core/stream.ts';
import { type CountComparison, compareCounts, readIds } from './compare-counts.ts';
import { classify, compareStream, nothingCompared, type StreamComparison } from './compare-stream.ts';
import type { StreamContext } from './contexts.ts';
import { countBeyond } from './mismatches.ts';
import { type RecheckedMismatches, recheck } from './recheck.ts';
import type { StreamReport } from './verify-report.ts';

/** One stream of one environment after it was looked at. */
export interface ExaminedStream extends RecheckedMismatches {
  readonly sight: StreamContext;
  readonly status: StreamReport['status'];
  readonly compared: StreamComparison;
  readonly error: SyncError | null;
}

/** Compares one stream, then looks again at what differs. Never throws a `SyncError`. */
export async function examine(streamContext: StreamContext): Promise<ExaminedStream[]> {
  const counts = streamContext.depth === 'count';
  // Which tables there are, the stream of all assets says; where they stand, the typed one.
  const needed = counts
    ? [streamNamed(streamContext.catalogue, 'assets'), streamContext.stream]
    : [streamContext.stream];
  const checkpoints = new Map<Stream, Checkpoint>();
  for (const each of needed) checkpoints.set(each, await streamContext.holding.load(each.name));
  const unsynced = [...checkpoints].find(([each, checkpoint]) => isUnsynced(each, checkpoint));
  if (unsynced === undefined) return counts ? examineCounts(streamContext) : [await examineRows(streamContext)];
  const [stream, { unavailable }] = unsynced;
  return [{ ...nothingFound({ ...streamContext, stream }), status: unavailable ? 'unavailable' : 'unsynced' }];
}

async function examineRows(streamContext: StreamContext): Promise<ExaminedStream> {
  const compared = nothingCompared();
  try {
    await compareStream(streamContext, compared);
    return await judged(streamContext, compared);
  } catch (error) {
    return failed(streamContext, compared, error);
  }
}

/** The tables are counted; which of them there are, the stream of all assets decides. */
async function examineCounts(tables: StreamContext): Promise<ExaminedStream[]> {
  const assets: StreamContext = { ...tables, stream: streamNamed(tables.catalogue, 'assets') };
  const countComparison: CountComparison = { ...nothingCompared(), moved: [] };
  try {
    await countOrRead(tables, countComparison);
    const found = [await judged(assets, countComparison)];
    for (const { stream } of countComparison.moved.length > 0 ? [assets, tables] : []) {
      const streamContext: StreamContext = { ...tables, stream, depth: 'rows' };
      const again = await judged(streamContext, { ...nothingCompared(), fresh: [...countComparison.moved] });
      if (again.status !== 'equal' || again.pending.length > 0) found.push(again);
    }
    return found;
  } catch (error) {
    return [failed(assets, countComparison, error)];
  }
}

/** Where the source does not count (R15), the ids of all tables are read. */
async function countOrRead(tables: StreamContext, countComparison: CountComparison): Promise<void> {
  try {
    await compareCounts(tables, countComparison);
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'not-live') throw error;
    countComparison.uncounted = true;
    countComparison.rows = await readIds(tables, {}, countComparison);
  }
}

async function judged(streamContext: StreamContext, streamComparison: StreamComparison): Promise<ExaminedStream> {
  await classify(streamContext, streamComparison);
  const found = await recheck(streamContext, streamComparison);
  const isOpen = found.possible.length + countBeyond(streamComparison.suspects) > 0;
  const status = found.differences.length > 0 ? 'different' : isOpen ? 'unsure' : 'equal';
  return { sight: streamContext, compared: streamComparison, error: null, status, ...found };
}

function failed(streamContext: StreamContext, streamComparison: StreamComparison, error: unknown): ExaminedStream {
  if (!(error instanceof SyncError)) throw error;
  if (error.recovery === 'not-live' && streamContext.stream.mayBeUnavailable)
    return { ...nothingFound(streamContext), status: 'unavailable' };
  const status = endsRun(error) ? 'stopped' : 'failed';
  const possible = [
    ...streamComparison.suspects.listed.values(),
    ...streamComparison.fresh.filter(({ cause }) => cause === null),
  ];
  return { ...nothingFound(streamContext), compared: streamComparison, status, error, possible };
}

function nothingFound(streamContext: StreamContext): ExaminedStream {
  const nothing = { differences: [], pending: [], possible: [] };
  return { sight: streamContext, status: 'equal', compared: nothingCompared(), error: null, ...nothing };
}

export function streamNamed(catalogue: readonly Stream[], name: Stream['name']): Stream {
  const found = catalogue.find((stream) => stream.name === name);
  if (found === undefined) throw new Error(`no stream ${name}`);
  return found;
}
