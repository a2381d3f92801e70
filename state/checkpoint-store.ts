import type { syncCheckpoints as table } from '../schema/sync.ts';
import { type Checkpoint, type CheckpointOf, NO_PROGRESS, type Round, type ScanDue } from '../src/core/checkpoint.ts';
import { withReturns } from '../src/core/decide/round.ts';
import type { StreamName } from '../src/core/stream.ts';
import type { StateStatements } from './state-statements.ts';

type StoredCheckpoint = typeof table.$inferSelect;

export function* loadCheckpoints(env: string): StateStatements<CheckpointOf> {
  const { rows } = yield {
    sql: `select c.*, (${RETURNS}) as returns from sync_checkpoints c where c.env_id = @env`,
    values: { env },
  };
  const found = rows as unknown as readonly FoundCheckpoint[];
  const stored = new Map<string, Checkpoint>(
    found.map((row) => [row.stream, withReturns(decode(row), row.returns ?? row.returned_count)]),
  );
  // Streams that were never read have the returns of their environment, too.
  const [environment] = found.length > 0 ? [] : (yield { sql: RETURNS, values: { env } }).rows;
  const none = withReturns(NO_PROGRESS, Number(found[0]?.returns ?? environment?.['returned_count'] ?? 0));
  return (stream) => stored.get(stream) ?? none;
}

/** How often the environment has come back (R13). */
const RETURNS = 'select returned_count from mirror_environments where env_id = @env';

/** `returns` is null if the environment has no row yet. */
type FoundCheckpoint = StoredCheckpoint & { readonly returns: number | null };

export function* loadUnfinished(env: string, cycle: number): StateStatements<StreamName[]> {
  const sql = 'select stream, round from sync_checkpoints where env_id = @env and round is not null order by stream';
  const { rows } = yield { sql, values: { env } };
  const isOther = (round: unknown): boolean => (JSON.parse(String(round)) as Pick<Round, 'cycle'>).cycle !== cycle;
  return rows.flatMap(({ stream, round }) => (isOther(round) ? [stream as StreamName] : []));
}

/** The columns of a checkpoint's row besides its key. */
export function encodeCheckpoint(checkpoint: Checkpoint): Omit<StoredCheckpoint, 'env_id' | 'stream'> {
  return {
    watermark: checkpoint.watermark,
    scanned_at: checkpoint.scannedAt,
    scan_ended_at: checkpoint.scanEndedAt,
    scan_ended_cycle: checkpoint.scanEndedCycle,
    scan_pages: checkpoint.scanPages,
    scan_due: checkpoint.scanDue,
    unavailable: Number(checkpoint.unavailable),
    finished_cycle: checkpoint.finishedCycle,
    round: checkpoint.round === null ? null : JSON.stringify(checkpoint.round),
    page_limit: checkpoint.pageLimit?.rows ?? null,
    page_limit_at: checkpoint.pageLimit?.at ?? null,
    waiting_scan:
      checkpoint.scanTriedInRun === null
        ? null
        : JSON.stringify({ run: checkpoint.scanTriedInRun, round: checkpoint.waitingScan }),
    returned_count: checkpoint.returns,
  };
}

/** A checkpoint as it is read after it was stored, in an environment that has come back this often (R13). */
export function asStored(checkpoint: Checkpoint, returns: number | null): Checkpoint {
  return withReturns(decode(encodeCheckpoint(checkpoint)), returns ?? checkpoint.returns);
}

function decode(checkpoint: ReturnType<typeof encodeCheckpoint>): Checkpoint {
  const tried: TriedScan | null = checkpoint.waiting_scan === null ? null : JSON.parse(checkpoint.waiting_scan);
  return {
    watermark: checkpoint.watermark,
    scannedAt: checkpoint.scanned_at,
    scanEndedAt: checkpoint.scan_ended_at,
    scanEndedCycle: checkpoint.scan_ended_cycle,
    scanPages: checkpoint.scan_pages,
    scanDue: checkpoint.scan_due as ScanDue | null,
    unavailable: checkpoint.unavailable === 1,
    finishedCycle: checkpoint.finished_cycle,
    round: checkpoint.round === null ? null : JSON.parse(checkpoint.round),
    pageLimit: checkpoint.page_limit === null ? null : { rows: checkpoint.page_limit, at: checkpoint.page_limit_at },
    scanTriedInRun: tried?.run ?? null,
    waitingScan: tried?.round ?? null,
    returns: checkpoint.returned_count,
  };
}

/** What the column `waiting_scan` holds: the run that tried a scan, and the scan that waits for the next run. */
type TriedScan = { readonly run: number; readonly round: Round | null };
