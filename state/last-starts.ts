import { sql } from 'drizzle-orm';
import { environments } from '../schema/assets.ts';
import { syncRuns, syncStreamRuns } from '../schema/sync.ts';
import type { Instant } from '../src/core/time/instant.ts';
import { type StateStatements, textTable } from './state-statements.ts';

/**
 * For each environment, the start of its last finished run, with or without problems. Takes one index lookup per
 * stream, however long the log is.
 */
export function* loadLastStarts(streams: readonly string[]): StateStatements<Map<string, Instant>> {
  const { rows } = yield sql`with ${textTable('n', streams)}
    select e.id, max((
      select r.started_at from ${syncStreamRuns} s join ${syncRuns} r on r.id = s.run_id
      where s.env_id = e.id and s.stream = n.value and r.status in ('done', 'problems')
      order by s.run_id desc limit 1
    )) as started_at
    from ${environments} e cross join n group by e.id`;
  const ended = rows.filter((row) => row['started_at'] !== null);
  return new Map(ended.map((row) => [String(row['id']), String(row['started_at'])]));
}
