import { staleHealthDays } from '../schema/page.ts';
import { all, queryBuilder, type StateStatements } from './state-statements.ts';

/** The environments with days whose mean scores are out of date. */
export function* environmentsWithStaleDays(): StateStatements<string[]> {
  const { env_id } = staleHealthDays;
  const stale = yield* all(queryBuilder.selectDistinct({ env_id }).from(staleHealthDays).orderBy(env_id));
  return stale.map((each) => each.env_id);
}
