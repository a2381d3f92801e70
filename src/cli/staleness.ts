import type { RunStatusReport, StatusReport, StreamReportStatus } from '../api/status-report.ts';
import { isStale } from '../core/alerts/matches-rule.ts';
import { USUAL_STREAMS } from '../settings/sync-settings.ts';
import { span } from './words.ts';

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
          .filter((stream) => USUAL_STREAMS.includes(stream.stream) && isCounted(stream))
          .filter((stream) => isStale(stream.watermark_age_seconds, maxAgeSeconds))
          .map((stream) => `${environment} ${ageOf(stream)}`),
      ),
  ];
}

/** As for the alert `stale`. */
function isCounted({ watermark_age_seconds: age, last_run, unavailable }: StreamReportStatus): boolean {
  return age !== null || (last_run !== null && !unavailable);
}

function ageOf({ stream, watermark_age_seconds: age }: StreamReportStatus): string {
  return age === null ? `${stream} was never read to its end` : `${stream} is ${span(age)} old`;
}
