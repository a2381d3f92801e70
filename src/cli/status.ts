import { status as readStatus } from '../library/status.ts';
import type { CommandAction } from './command.ts';
import { renderStatus } from './status-view.ts';
import { tellReport } from './tell-report.ts';

export const status: CommandAction = async (args, io) => {
  tellReport(await readStatus({ db: args['db'] as string }), args, io, renderStatus);
  return 0;
};
