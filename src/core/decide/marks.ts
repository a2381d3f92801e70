import type { Checkpoint, CheckpointOf } from '../checkpoint.ts';
import type { Row, Stream, StreamName } from '../stream.ts';
import type { RowChange } from './newest-wins.ts';

export interface FollowUpMark {
  readonly stream: StreamName;
  readonly id: string;
}

/**
 * The marks that a change makes (R13, R18, R22). An inserted row whose `synced_at` is before `visibleSince` is not new:
 * it has become visible, so it counts as restored.
 */
export function changeMarks(
  { marks }: Pick<Stream, 'marks'>,
  { row, kind }: RowChange,
  visibleSince: string | null,
): FollowUpMark[] {
  if (marks.length === 0) return [];
  const shown = kind === 'inserted' || kind === 'updated' || kind === 'restored';
  const granted = kind === 'inserted' && visibleSince !== null && String(row['synced_at'] ?? '') < visibleSince;
  const moved = kind === 'deleted' || kind === 'restored' || granted;
  return marks
    .filter((rule) => (rule.on === 'shown' ? shown : moved))
    .filter((rule) => rule.where === undefined || row[rule.where.field] === rule.where.is)
    .map((rule) => ({ stream: rule.stream, id: String(row[rule.id]) }));
}

/**
 * A tombstone that is the first one of a row, or newer than the stored one, counts as a deletion: the row was live
 * before it, though the mirror may never have accepted that version, and may have rows that belong to it (R13, R20).
 */
export function asDeletion(change: RowChange, existing: Row | undefined): RowChange {
  const isSame = existing !== undefined && existing['deleted_at'] === change.row['deleted_at'];
  return change.kind === 'tombstoned' && !isSame ? { ...change, kind: 'deleted' } : change;
}

/** The streams that a stream makes marks for; one needs none before its first scan, which returns all rows. */
export function markableStreams({ marks }: Stream, checkpointOf: CheckpointOf): ReadonlySet<StreamName> {
  const hasBegun = ({ scanEndedCycle, round }: Checkpoint): boolean => scanEndedCycle !== null || round !== null;
  return new Set(marks.map(({ stream }) => stream).filter((name) => hasBegun(checkpointOf(name))));
}
