import { endsRun, SyncError } from '../core/errors.ts';
import { isUnsynced } from '../core/pending.ts';
import type { Stream } from '../core/stream.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import { type Judged, lookAgain } from './verify-again.ts';
import { type Counted, compareCounts, readIds } from './verify-count.ts';
import type { StreamReport } from './verify-report.ts';
import type { Sight } from './verify-sight.ts';
import { type Compared, compareStream, nothingCompared } from './verify-stream.ts';
import { noSuspects, type Suspect } from './verify-suspects.ts';

/** One stream of one environment after it was looked at. */
export interface Examined extends Judged {
  readonly sight: Sight;
  readonly status: StreamReport['status'];
  readonly compared: Compared;
  readonly error: SyncError | null;
}

/** Requests in which the suspects of one stream, with all that explains them, are asked for again. */
const MOST_AGAIN = 50;

/** Compares one stream, then looks again at what differs. Never throws a `SyncError`. */
export async function examine(sight: Sight): Promise<Examined[]> {
  const { stream, holding } = sight;
  const counts = sight.depth === 'count';
  const checkpoint = holding.load(counts ? streamNamed('assets').name : stream.name);
  if (isUnsynced(counts ? streamNamed('assets') : stream, checkpoint))
    return [{ ...nothingFound(sight), status: checkpoint.unavailable ? 'unavailable' : 'unsynced' }];
  return counts ? examineCounts(sight) : [await examineRows(sight)];
}

async function examineRows(sight: Sight): Promise<Examined> {
  const compared = nothingCompared();
  try {
    await compareStream(sight, compared);
    const judged = await lookAgain(sight, compared.suspects.list, { requests: MOST_AGAIN });
    return examined(sight, compared, judged);
  } catch (error) {
    return failed(sight, compared, error);
  }
}

/** The tables are counted; which of them there are, the stream of all assets decides. */
async function examineCounts(tables: Sight): Promise<Examined[]> {
  const assets: Sight = { ...tables, stream: streamNamed('assets') };
  const counted: Counted = { ...nothingCompared(), moved: noSuspects() };
  const allowance = { requests: MOST_AGAIN };
  try {
    await countOrRead(tables, counted);
    const judged = await lookAgain(assets, counted.suspects.list, allowance);
    const found = [examined(assets, counted, judged)];
    if (counted.moved.list.length === 0) return found;
    for (const each of [assets, tables]) {
      const sight: Sight = { ...each, depth: 'rows' };
      const moved = { ...nothingCompared(), suspects: counted.moved };
      found.push(examined(sight, moved, await lookAgain(sight, counted.moved.list, allowance)));
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
    await readIds(tables, {}, counted);
  }
}

function examined(sight: Sight, compared: Compared, judged: Judged): Examined {
  const { beyond } = compared.suspects;
  const differs = judged.differences.length + judged.left.length + beyond.missing + beyond.extra + beyond.unequal > 0;
  return { sight, compared, error: null, status: differs ? 'different' : 'equal', ...judged };
}

function failed(sight: Sight, compared: Compared, error: unknown): Examined {
  if (!(error instanceof SyncError)) throw error;
  if (error.recovery === 'absent' && sight.stream.mayBeUnavailable)
    return { ...nothingFound(sight), status: 'unavailable' };
  const status = endsRun(error) ? 'stopped' : 'failed';
  return { ...nothingFound(sight), compared, status, error, left: compared.suspects.list };
}

function nothingFound(sight: Sight): Examined {
  const none: Suspect[] = [];
  const compared = nothingCompared();
  return { sight, status: 'equal', compared, error: null, differences: none, pending: [], left: [] };
}

export function streamNamed(name: Stream['name']): Stream {
  const found = CATALOGUE.find((stream) => stream.name === name);
  if (found === undefined) throw new Error(`no stream ${name}`);
  return found;
}
