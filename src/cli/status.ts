import { status } from '../api/status.ts';
import type { RunStatusReport, StatusReport, StreamReportStatus } from '../api/status-report.ts';
import { isStale } from '../core/alerts/matches-rule.ts';
import { usageError } from '../core/errors.ts';
import { readDuration } from '../settings/option-error.ts';
import { USUAL_STREAMS } from '../settings/sync-settings.ts';
import { renderAllStatus } from './all-status-view.ts';
import type { CommandAction } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print.ts';
import { printable } from './printable.ts';
import { renderStatus } from './status-view.ts';
import { span } from './words.ts';

export const statusCommand: CommandAction = async (args, io) => {
  const options = libraryOptions(args);
  if (args['all'] === true) {
    if (args['maxAge'] !== undefined) throw usageError('--max-age is for one mirror: leave out --all');
    // Loaded only here: the status of a mirror in a file needs no PostgreSQL driver.
    const { statusOfAll } = await import('../api/all-status.ts');
    printReport(await statusOfAll(options), args, io, renderAllStatus);
    return 0;
  }
  const maxAge = args['maxAge'] === undefined ? null : readDuration('maxAge', String(args['maxAge']));
  const report = await status(options);
  printReport(report, args, io, renderStatus);
  const stale = maxAge === null ? [] : stalenessOf(report, maxAge);
  for (const line of stale) io.stderr.write(`${printable(line)}\n`);
  return stale.length === 0 ? 0 : 1;
};

const FAILED: ReadonlySet<RunStatusReport['status']> = new Set(['problems', 'refused', 'killed']);

/**
 * Why the mirror is stale, a line per reason; none if every stream that runs read is at most so old, and the last run
 * did not fail. An environment that is no longer listed has no age, nor has a stream that was never live.
 */
function stalenessOf({ last_run: run, environments }: StatusReport, maxAgeSeconds: number): string[] {
  if (run === null) return ['there has been no run yet'];
  const failure = `run ${run.run}, the last one, ${run.status === 'killed' ? 'was killed' : 'failed'}`;
  // As for the alert `stale`.
  const isOld = ({ stream, watermark_age_seconds: age, last_run, unavailable }: StreamReportStatus): boolean =>
    USUAL_STREAMS.includes(stream) &&
    (age !== null || (last_run !== null && !unavailable)) &&
    isStale(age, maxAgeSeconds);
  const listed = environments.filter(({ missing_since }) => missing_since === null);
  const old = listed.flatMap(({ environment, streams }) =>
    streams.filter(isOld).map((stream) => `${environment} ${ageOf(stream)}`),
  );
  return FAILED.has(run.status) ? [failure, ...old] : old;
}

function ageOf({ stream, watermark_age_seconds: age }: StreamReportStatus): string {
  return age === null ? `${stream} was never read to its end` : `${stream} is ${span(age)} old`;
}
