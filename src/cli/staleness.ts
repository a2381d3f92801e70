import type { RunStatusReport, StatusReport, StreamReportStatus } from '../api/status-report.ts';
import { selectStreams } from '../settings/select-streams.ts';
import { span } from './span.ts';

/** Histories don't count: some runs read them, and others don't. */
const USUAL = new Set(selectStreams({ streamNames: [], history: false }).map(({ name }) => name as string));

const FAILED: ReadonlySet<RunStatusReport['status']> = new Set(['problems', 'refused', 'killed']);

/**
 * Why the mirror is stale, a line per reason; none if every stream that runs read is at most so old, and the last run
 * did not fail. An environment that is no longer listed has no age, nor has a stream that was never live.
 */
export function stalenessOf({ last_run: run, environments }: StatusReport, maxAgeSeconds: number): string[] {
  if (run === null) return ['there has been no run yet'];
  return [
    ...(FAILED.has(run.status)
      ? [`run ${run.run}, the last one, ${run.status === 'killed' ? 'was killed' : 'failed'}`]
      : []),
    ...environments
      .filter(({ missing_since }) => missing_since === null)
      .flatMap(({ environment, streams }) =>
        streams
          .filter((stream) => USUAL.has(stream.stream) && isStale(stream, maxAgeSeconds))
          .map((stream) => `${environment} ${ageOf(stream)}`),
      ),
  ];
}

function isStale(
  { watermark_age_seconds: age, last_run, unavailable }: StreamReportStatus,
  maxSeconds: number,
): boolean {
  if (age === null) return last_run !== null && !unavailable;
  return age > maxSeconds;
}

function ageOf({ stream, watermark_age_seconds: age }: StreamReportStatus): string {
  return age === null ? `${stream} was never read to its end` : `${stream} is ${span(age)} old`;
}
