import type { Writable } from 'node:stream';
import { type CommandArguments, type CommandIo, isQuiet, logSettings, stdoutWidth, widthOf } from './command.ts';
import { printableReport } from './printable.ts';
import { wrapText } from './wrap-text.ts';

/** The text of a report for the terminal's width; null means no limit. */
type RenderReport<Report> = (report: Report, width: number | null) => string;

/** A command that makes one call and prints its report. It exits 0 unless `exitCode` says otherwise. */
export function printingCommand<Report, Stop extends readonly unknown[]>(
  call: (args: CommandArguments, io: CommandIo, ...stop: Stop) => Promise<Report>,
  render: RenderReport<Report>,
  exitCode: (report: Report) => number = () => 0,
) {
  return async (args: CommandArguments, io: CommandIo, ...stop: Stop): Promise<number> => {
    const report = await call(args, io, ...stop);
    const code = exitCode(report);
    printReport(report, args, io, render, code === 0);
    return code;
  };
}

/** Prints JSON with `--json`, else the text for the terminal's width; with `--quiet` nothing if nothing is wrong. */
export function printReport<Report>(
  report: Report,
  args: CommandArguments,
  io: CommandIo,
  render: RenderReport<Report>,
  isWell = false,
): void {
  if (isWell && isQuiet(args) && args['json'] !== true) return;
  const width = stdoutWidth(io);
  if (args['json'] === true) io.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else io.stdout.write(wrapText(render(printableReport(report), width), width));
}

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

/**
 * Writes texts at the reader's pace, and stops when they can no longer be written. The stream's error listener decides
 * what that means (see `program.ts`).
 */
export async function print(texts: Iterable<string> | AsyncIterable<string>, out: Writable): Promise<void> {
  for await (const text of texts) {
    const error = await new Promise((resolve) => out.write(text, resolve));
    if (error != null) return;
  }
}
