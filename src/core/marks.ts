import type { Change } from './newest-wins.ts';
import type { Stream, StreamName } from './stream.ts';

export interface Mark {
  readonly stream: StreamName;
  readonly id: string;
}

/**
 * The marks a change leaves (R13, R18, R22). A row inserted with a `synced_at` before `grantedBefore` has become visible
 * rather than new, and counts as one that came back.
 */
export function changeMarks(stream: Stream, { row, was }: Change, grantedBefore: string | null): Mark[] {
  const shown = was === 'inserted' || was === 'updated' || was === 'revived';
  const granted = was === 'inserted' && grantedBefore !== null && String(row['synced_at'] ?? '') < grantedBefore;
  const moved = was === 'deleted' || was === 'revived' || granted;
  return stream.marks
    .filter((rule) => (rule.on === 'shown' ? shown : moved))
    .filter((rule) => rule.where === undefined || row[rule.where.field] === rule.where.is)
    .map((rule) => ({ stream: rule.stream, id: String(row[rule.id]) }));
}
