import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { heldRemovals } from '../schema/sync.ts';
import type { StreamName } from '../src/core/stream.ts';

/** The streams of every environment that have held-back removals (R14). */
export function streamsHoldingBack(db: BetterSQLite3Database): { envId: string; stream: StreamName }[] {
  const held = db.selectDistinct({ envId: heldRemovals.env_id, stream: heldRemovals.stream }).from(heldRemovals).all();
  return held.map(({ envId, stream }) => ({ envId, stream: stream as StreamName }));
}
