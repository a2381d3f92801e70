import { isUnsynced } from '../core/decide/pending.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { compareCounts } from './compare-counts.ts';
import { classifyDifference, compareStream } from './compare-stream.ts';
import { type StreamContext, streamNamed } from './contexts.ts';
import { addMismatch, isPending, type Mismatch } from './mismatch.ts';
import { recheck } from './recheck.ts';
import { createVerification, type StreamVerification } from './stream-verification.ts';

/** Compares one stream, then requests again what differs. Never throws a `SyncError`. */
export async function verifyStream(context: StreamContext): Promise<StreamVerification[]> {
  const { catalogue, checkpointOf, depth } = context;
  const assets = { ...context, stream: streamNamed(catalogue, 'assets') };
  // The stream of all assets decides which tables exist; the typed stream decides where they are.
  const needed = depth === 'count' ? [assets, context] : [context];
  // The checkpoints from when the verification began; what a sync finishes meanwhile is left to the next verification.
  for (const each of needed) {
    const checkpoint = checkpointOf(each.stream.name);
    if (isUnsynced(each.stream, checkpoint))
      return [{ ...createVerification(each), outcome: checkpoint.unavailable ? 'unavailable' : 'unsynced' }];
  }
  if (depth === 'count') return verifyCounts(context, assets);
  return [await judge(createVerification(context), compareStream)];
}

/** Compares the number of tables; tables that moved are compared by their rows. */
async function verifyCounts(tables: StreamContext, assets: StreamContext): Promise<StreamVerification[]> {
  let moved: readonly Mismatch[] = [];
  const counts = await judge(createVerification(assets), async (verification) => {
    moved = await compareCounts(tables, verification);
  });
  const verifications = [counts];
  for (const each of counts.outcome === 'compared' && moved.length > 0 ? [assets, tables] : []) {
    const rows = { ...createVerification({ ...each, depth: 'rows' }), fresh: [...moved] };
    const verification = await judge(rows, async () => {});
    // A table that the source has moved since the last sync is pending only once: in its place, not in the list of all
    // assets.
    const { outcome, unexplained } = verification;
    if (outcome !== 'compared' || unexplained.listed.size > 0) verifications.push(verification);
  }
  return verifications;
}

async function judge(
  verification: StreamVerification,
  compare: (verification: StreamVerification) => Promise<void>,
): Promise<StreamVerification> {
  try {
    await compare(verification);
    await classifyDifference(verification);
    await recheck(verification);
    return verification;
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    const { streamContext, fresh } = verification;
    if (error.recovery === 'not-live' && streamContext.stream.mayBeUnavailable)
      return { ...createVerification(streamContext), outcome: 'unavailable' };
    for (const mismatch of fresh)
      addMismatch(isPending(mismatch) ? verification.pending : verification.unexplained, mismatch);
    return { ...verification, outcome: endsRun(error) ? 'stopped' : 'failed', error, fresh: [] };
  }
}
