import type { Commit } from '../../core/destination.ts';
import type { Change } from '../../core/newest-wins.ts';
import type { Stream } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { column, run, value, type Writing } from './part.ts';
import { list, nameOf, quote, replacing, shapeOf } from './shape.ts';
import { type Changed, writeChanges, writeMarks } from './write-changes.ts';

/**
 * Changes of a page. Those of a first scan wait beside the table, one after the other, and are put in place in the order of their
 * key once it ends: keys come in any order, and a row in the midst of a large table costs a page of the file, written twice.
 */
export function writePage(writing: Writing, stream: Stream, commit: Commit): Changed {
  const { changes = [], checkpoint } = commit;
  if (stream.loading === undefined || commit.changes === undefined) return writeChanges(writing, stream, changes);
  if (isLoading(writing, commit)) return load(writing, stream, changes, checkpoint.round?.reads ?? 0);
  if (!hasLoaded(writing, stream)) return writeChanges(writing, stream, changes);
  const changed = load(writing, stream, changes, 0);
  land(writing, stream);
  return changed;
}

/** More pages of the first scan are to come, and no stream waits for marks of their rows (R18). */
function isLoading({ marking }: Writing, { checkpoint: { round, scanEndedPass } }: Commit): boolean {
  if (round === null || scanEndedPass !== null || round.mode !== 'scan' || round.sweeps || marking.size > 0)
    return false;
  const [phase] = round.phases;
  return phase?.do === 'walk' && phase.as === 'scan';
}

function hasLoaded(writing: Writing, stream: Stream): boolean {
  return value(writing, `select 1 from ${nameOf(stream.loading)} l where l.env_id = @env limit 1`) !== undefined;
}

function load(writing: Writing, stream: Stream, changes: readonly Change[], readNumber: number): Changed {
  upsert(
    writing,
    stream.loading,
    changes.map((change) => change.row),
    { conflict: 'append', added: { read_number: readNumber } },
  );
  return { written: changes.length, deleted: 0 };
}

/** Of a row that the scan has shown twice the newest stays, or what was shown last (R10). */
function land(writing: Writing, stream: Stream): void {
  const shape = shapeOf(stream.table);
  const loaded = `from ${nameOf(stream.loading)} as l where l.env_id = @env`;
  const selected = shape.columns.map((name) => (name === 'mirrored_at' ? '@mirroredAt' : `l.${quote(name)}`));
  run(
    writing,
    `insert into ${nameOf(stream.table)} (${list(shape.columns)}) select ${selected.join(', ')} ${loaded}
      order by l.id, max(coalesce(l.synced_at, ''), coalesce(l.deleted_at, '')), l.rowid ${replacing(shape)}`,
    { mirroredAt: writing.mirroredAt },
  );
  markLoaded(writing, stream, loaded);
  run(writing, `delete ${loaded}`);
}

/** Streams that have begun since the scan did follow its rows from now on (R18, R22). */
function markLoaded(writing: Writing, stream: Stream, loaded: string): void {
  for (const rule of stream.marks.filter((each) => each.on === 'shown' && writing.marking.has(each.stream))) {
    const only = rule.where === undefined ? '' : ` and l.${quote(rule.where.field)} = '${rule.where.is}'`;
    const ids = column(writing, `select distinct l.${quote(rule.id)} ${loaded}${only}`) as string[];
    writeMarks(
      writing,
      ids.map((id) => ({ stream: rule.stream, id })),
    );
  }
}

/** Drops what a read, or all of a round, has loaded (R7). */
export function forgetLoaded(writing: Writing, stream: Stream, which: number | 'all'): void {
  if (stream.loading === undefined) return;
  const only = which === 'all' ? '' : ' and l.read_number = @which';
  run(writing, `delete from ${nameOf(stream.loading)} as l where l.env_id = @env${only}`, { which });
}
