import type { Checkpoint } from '../../core/checkpoint.ts';
import { endsRun, SyncError } from '../../core/errors.ts';
import { isUnsynced } from '../../core/pending.ts';
import type { Stream } from '../../core/stream.ts';
import { type Counted, compareCounts, readIds } from './compare-counts.ts';
import { type Compared, compareStream, nothingCompared, sift } from './compare-stream.ts';
import { type Judged, lookAgain } from './look-again.ts';
import type { Sight } from './sight.ts';
import { countBeyond } from './suspects.ts';
import type { StreamReport } from './verify-report.ts';

/** One stream of one environment after it was looked at. */
export interface Examined extends Judged {
  readonly sight: Sight;
  readonly status: StreamReport['status'];
  readonly compared: Compared;
  readonly error: SyncError | null;
}

/** Compares one stream, then looks again at what differs. Never throws a `SyncError`. */
export async function examine(sight: Sight): Promise<Examined[]> {
  const counts = sight.depth === 'count';
  // Which tables there are, the stream of all assets says; where they stand, the typed one.
  const needed = counts ? [streamNamed(sight.catalogue, 'assets'), sight.stream] : [sight.stream];
  const checkpoints = new Map<Stream, Checkpoint>();
  for (const each of needed) checkpoints.set(each, await sight.holding.load(each.name));
  const unsynced = [...checkpoints].find(([each, checkpoint]) => isUnsynced(each, checkpoint));
  if (unsynced === undefined) return counts ? examineCounts(sight) : [await examineRows(sight)];
  const [stream, { unavailable }] = unsynced;
  return [{ ...nothingFound({ ...sight, stream }), status: unavailable ? 'unavailable' : 'unsynced' }];
}

async function examineRows(sight: Sight): Promise<Examined> {
  const compared = nothingCompared();
  try {
    await compareStream(sight, compared);
    return await judged(sight, compared);
  } catch (error) {
    return failed(sight, compared, error);
  }
}

/** The tables are counted; which of them there are, the stream of all assets decides. */
async function examineCounts(tables: Sight): Promise<Examined[]> {
  const assets: Sight = { ...tables, stream: streamNamed(tables.catalogue, 'assets') };
  const counted: Counted = { ...nothingCompared(), moved: [] };
  try {
    await countOrRead(tables, counted);
    const found = [await judged(assets, counted)];
    for (const { stream } of counted.moved.length > 0 ? [assets, tables] : []) {
      const sight: Sight = { ...tables, stream, depth: 'rows' };
      const again = await judged(sight, { ...nothingCompared(), fresh: [...counted.moved] });
      if (again.status !== 'equal' || again.pending.length > 0) found.push(again);
    }
    return found;
  } catch (error) {
    return [failed(assets, counted, error)];
  }
}

/** Where the source does not count (R15), the ids of all tables are read. */
async function countOrRead(tables: Sight, counted: Counted): Promise<void> {
  try {
    await compareCounts(tables, counted);
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'absent') throw error;
    counted.uncounted = true;
    counted.rows = await readIds(tables, {}, counted);
  }
}

async function judged(sight: Sight, compared: Compared): Promise<Examined> {
  await sift(sight, compared);
  const found = await lookAgain(sight, compared);
  const isOpen = found.possible.length + countBeyond(compared.suspects) > 0;
  const status = found.differences.length > 0 ? 'different' : isOpen ? 'unsure' : 'equal';
  return { sight, compared, error: null, status, ...found };
}

function failed(sight: Sight, compared: Compared, error: unknown): Examined {
  if (!(error instanceof SyncError)) throw error;
  if (error.recovery === 'absent' && sight.stream.mayBeUnavailable)
    return { ...nothingFound(sight), status: 'unavailable' };
  const status = endsRun(error) ? 'stopped' : 'failed';
  const possible = [...compared.suspects.listed.values(), ...compared.fresh.filter(({ cause }) => cause === null)];
  return { ...nothingFound(sight), compared, status, error, possible };
}

function nothingFound(sight: Sight): Examined {
  const nothing = { differences: [], pending: [], possible: [] };
  return { sight, status: 'equal', compared: nothingCompared(), error: null, ...nothing };
}

export function streamNamed(catalogue: readonly Stream[], name: Stream['name']): Stream {
  const found = catalogue.find((stream) => stream.name === name);
  if (found === undefined) throw new Error(`no stream ${name}`);
  return found;
}
