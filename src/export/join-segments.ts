import type { ExportedFile } from './manifest.ts';
import type { SurveyedSegment } from './segment.ts';

/** How many small files the newest month of a history may have; older months have one at most. */
const MAX_SMALL = 8;

/**
 * The segments to write: those that have changed, and small ones that are joined to one file. Of a list, a changed
 * segment that became small joins its neighbour. Of a history, whose files are not written again otherwise, unchanged
 * segments join once there are several.
 */
export function segmentsToWrite(
  surveyed: readonly SurveyedSegment[],
  changed: ReadonlySet<SurveyedSegment>,
  targetBytes: number,
): { kept: readonly ExportedFile[]; segments: readonly SurveyedSegment[] } {
  const isSmall = (each: SurveyedSegment): boolean => bytesOf(each) < targetBytes / 2;
  const isHistory = surveyed.some(({ month }) => month !== null);
  const runs = isHistory
    ? [...Map.groupBy(surveyed, ({ month }) => month)].flatMap(([month, ofMonth]) => {
        const isNewest = month === surveyed.at(-1)?.month;
        return runsOf(ofMonth, (each) => !changed.has(each) && isSmall(each), targetBytes).filter(
          (run) => run.length >= (isNewest ? MAX_SMALL : 2),
        );
      })
    : shrunkRuns(surveyed, (each) => changed.has(each) && isSmall(each));
  // Of a table without changes nothing is written.
  const joined = changed.size === 0 ? [] : runs;
  const inRuns = new Set(joined.flat());
  const others = surveyed.filter((each) => !inRuns.has(each));
  return {
    kept: others.filter((each) => !changed.has(each)).flatMap(({ file }) => file ?? []),
    segments: [...others.filter((each) => changed.has(each)), ...joined.map((run) => join(run, isHistory))],
  };
}

/** Neighbours that pass, no more than fill a file. */
function runsOf(
  segments: readonly SurveyedSegment[],
  passes: (each: SurveyedSegment) => boolean,
  targetBytes: number,
): SurveyedSegment[][] {
  const runs: SurveyedSegment[][] = [];
  let [run, bytes] = [[] as SurveyedSegment[], 0];
  for (const each of segments) {
    if (!passes(each) || bytes + bytesOf(each) > targetBytes) [run, bytes] = [[], 0];
    if (!passes(each)) continue;
    if (run.length === 0) runs.push(run);
    run.push(each);
    bytes += bytesOf(each);
  }
  return runs;
}

/** Shrunk segments, each with a neighbour. */
function shrunkRuns(
  segments: readonly SurveyedSegment[],
  isShrunk: (each: SurveyedSegment) => boolean,
): SurveyedSegment[][] {
  const runs: SurveyedSegment[][] = [];
  for (const each of segments) {
    const run = runs.at(-1);
    if (run !== undefined && (isShrunk(each) || run.every(isShrunk))) run.push(each);
    else runs.push([each]);
  }
  return runs.filter((run) => run.length > 1);
}

function join(run: readonly SurveyedSegment[], isUnchanged: boolean): SurveyedSegment {
  const [first, last] = [run[0], run.at(-1)] as [SurveyedSegment, SurveyedSegment];
  const joins = isUnchanged ? run.flatMap(({ file }) => file?.path ?? []) : undefined;
  const rows = run.reduce((sum, each) => sum + each.rows, 0);
  return { ...first, to: last.to, file: null, joins, rows, changes: '' };
}

/** What the segment has now, estimated from its last file; a new one may be of any size. */
function bytesOf({ file, rows }: SurveyedSegment): number {
  return file === null ? Number.POSITIVE_INFINITY : (rows * file.bytes) / Math.max(1, file.rows);
}
