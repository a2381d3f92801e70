import type { Logger } from 'pino';
import { type CopyOptions, copy, type FollowOptions, followMirror } from '../api/copy.ts';
import { counted } from '../core/counted.ts';
import { SyncError } from '../core/errors.ts';
import type { CopyReport } from '../destination/copy-mirror.ts';
import { type CommandArguments, logSettings } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printingCommand } from './print.ts';
import { type StopRequest, untilSignal } from './signals.ts';

export const copyCommand = untilSignal(
  'a long write: nothing was copied',
  printingCommand(async (args, io, { signal }: StopRequest) => {
    const log = await io.log(logSettings(args));
    io.limitHeap();
    if (args['follow'] === true) return followTo(args, log, signal);
    const onProgress: CopyOptions['onProgress'] = ({ table, rows }) =>
      log.info(`${table}: ${counted(rows, 'row')} copied`);
    return copy({ ...libraryOptions<CopyOptions>(args), signal, onProgress });
  }, renderCopy),
);

async function followTo(args: CommandArguments, log: Logger, signal: AbortSignal): Promise<never> {
  let isFirst = true;
  await followMirror({
    ...libraryOptions<FollowOptions>(args),
    signal,
    onProgress(event) {
      if (event.type === 'failed') log.warn(event.message);
      else if (isFirst || event.rows > 0) log.info(`${counted(event.rows, 'row')} refreshed`);
      isFirst = false;
    },
  });
  throw new SyncError('signal', 'stopped: the replica stays as it is');
}

function renderCopy({ db, to, rows, tables }: CopyReport): string {
  return `${to} is a copy of ${db}: ${counted(rows, 'row')} in ${counted(tables.length, 'table')}. The next sync into it continues where the original was.\n`;
}
