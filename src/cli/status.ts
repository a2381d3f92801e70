import { status } from '../api/status.ts';
import { SyncError } from '../core/errors.ts';
import { readDuration } from '../settings/option-error.ts';
import { renderAllStatus } from './all-status-view.ts';
import type { CommandAction } from './command.ts';
import { mirrorOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { printable } from './printable.ts';
import { stalenessOf } from './staleness.ts';
import { renderStatus } from './status-view.ts';

export const statusCommand: CommandAction = async (args, io) => {
  const options = mirrorOptions(args);
  if (args['all'] === true) {
    if (args['maxAge'] !== undefined) throw new SyncError('usage', '--max-age is for one mirror: leave out --all');
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
