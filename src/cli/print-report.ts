import { type CommandArguments, type CommandIo, isQuiet } from './command.ts';
import { printableReport } from './printable.ts';
import { widthOf } from './terminal-width.ts';
import { wrapText } from './wrap-text.ts';

/** Prints JSON with `--json`, else the text for the terminal's width; with `--quiet` nothing if nothing is wrong. */
export function printReport<Report>(
  report: Report,
  args: CommandArguments,
  io: CommandIo,
  render: (report: Report, width: number | null) => string,
  isWell = false,
): void {
  if (isWell && isQuiet(args) && args['json'] !== true) return;
  const width = widthOf(io.stdout);
  io.stdout.write(
    args['json'] === true
      ? `${JSON.stringify(report, null, 2)}\n`
      : wrapText(render(printableReport(report), width), width),
  );
}
