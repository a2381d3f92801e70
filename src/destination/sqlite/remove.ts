import type { Instant } from '../../core/instant.ts';
import { changeMarks } from '../../core/marks.ts';
import { absent } from '../../core/newest-wins.ts';
import type { Stream } from '../../core/stream.ts';
import { live, type SqlCondition, tableOf } from './conditions.ts';
import { type CommitScope, rows } from './mirror-scope.ts';
import { list, tableSqlOf } from './table-sql.ts';
import { type ChangedRows, writeChanges, writeMarks } from './write-changes.ts';

/** Rows turned into removals at once: what a sweep holds in memory. */
const BATCH_ROWS = 2000;

interface RemovalInput extends SqlCondition {
  readonly at: Instant;
  /** Another index than the key's leads to the few rows meant; they are put in order afterwards. */
  readonly few?: true;
}

/** Marks the live rows of a condition as absent, a batch at a time. */
export function remove(commitScope: CommitScope, stream: Stream, { sql, values, at, few }: RemovalInput): ChangedRows {
  const id = few ? '+t.id' : 't.id';
  const select = `select ${list(tableSqlOf(stream.table).given, 't.')} from ${tableOf(stream)} t
    where t.env_id = @env and ${id} > @after and ${live(stream)} and ${sql} order by ${id} limit ${BATCH_ROWS}`;
  let deleted = 0;
  for (let after = ''; ; ) {
    const going = rows(commitScope, select, { ...values, after });
    const changes = going.map((row) => absent(row, at));
    writeChanges(commitScope, stream, changes);
    const marks = changes.flatMap((change) => changeMarks(stream, change, null));
    writeMarks(
      commitScope,
      marks.filter((mark) => commitScope.marking.has(mark.stream)),
    );
    deleted += going.length;
    if (going.length < BATCH_ROWS) return { written: 0, deleted };
    after = String(going.at(-1)?.['id']);
  }
}
