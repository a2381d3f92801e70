import { type CommandArguments, type CommandIo, logSettings, widthOf } from './command.ts';
import { wrapText } from './wrap-text.ts';

/** Prints on stderr why a command failed, and the `stack` of the error if there is one: as text, or as the log is. */
export async function printFailure(
  message: string,
  args: CommandArguments,
  io: Pick<CommandIo, 'stderr' | 'log'>,
  stack: string | null = null,
): Promise<void> {
  const { format } = logSettings(args);
  if (format === 'json') {
    const log = await io.log({ level: 'fatal', format });
    log.fatal(stack === null ? {} : { stack }, message);
    return;
  }
  io.stderr.write(`${wrapText(`obsync: ${message}`, widthOf(io.stderr))}\n`);
  if (stack !== null) io.stderr.write(`${stack}\n`);
}
