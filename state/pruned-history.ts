import { eq } from 'drizzle-orm';
import { prunedHistory } from '../schema/histories.ts';
import type { PrunedHistory } from '../src/core/decide/retention.ts';
import { all, queryBuilder, type StateStatements } from './state-statements.ts';

/** What has been pruned from the histories of an environment, or of all (R17). */
export function* loadPrunedHistory(envId?: string): StateStatements<readonly PrunedHistory[]> {
  const { env_id, history, action, complete_before, row_count } = prunedHistory;
  const columns = { env_id, history, action, complete_before, row_count };
  const ofOne = envId === undefined ? undefined : eq(env_id, envId);
  const select = queryBuilder.select(columns).from(prunedHistory).where(ofOne).orderBy(env_id, history, action);
  return (yield* all(select)) as readonly PrunedHistory[];
}
