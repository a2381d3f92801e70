import { status as readStatus } from '../library/status.ts';
import type { CommandAction } from './command.ts';
import { mirrorOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { renderStatus } from './status-view.ts';

export const status: CommandAction = async (args, io) => {
  printReport(await readStatus(mirrorOptions(args)), args, io, renderStatus);
  return 0;
};
