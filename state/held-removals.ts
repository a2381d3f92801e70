import { heldRemovals } from '../schema/sync.ts';
import type { StreamName } from '../src/core/stream.ts';
import { all, queryBuilder, type StateStatements } from './state-statements.ts';

/** The streams of every environment that have held-back removals (R14). */
export function* streamsHoldingBack(): StateStatements<{ envId: string; stream: StreamName }[]> {
  const { env_id, stream } = heldRemovals;
  const held = yield* all(queryBuilder.selectDistinct({ env_id, stream }).from(heldRemovals).orderBy(env_id, stream));
  return held.map((each) => ({ envId: each.env_id, stream: each.stream as StreamName }));
}
