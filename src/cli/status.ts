import { status as readStatus } from '../api/status.ts';
import { renderAllStatus } from './all-status-view.ts';
import type { CommandAction } from './command.ts';
import { mirrorOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { renderStatus } from './status-view.ts';

export const status: CommandAction = async (args, io) => {
  const options = mirrorOptions(args);
  if (args['all'] === true) {
    // Loaded only here: the status of a mirror in a file needs no PostgreSQL driver.
    const { statusOfAll } = await import('../api/all-status.ts');
    printReport(await statusOfAll(options), args, io, renderAllStatus);
  } else printReport(await readStatus(options), args, io, renderStatus);
  return 0;
};
