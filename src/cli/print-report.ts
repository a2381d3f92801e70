import { type CommandArguments, type CommandIo, isQuiet, stdoutWidth } from './command.ts';
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
  io.stdout.write(
    args['json'] === true
      ? `${JSON.stringify(report, null, 2)}\n`
      : wrapText(render(printableReport(report), width), width),
  );
}
