import { type CommandArguments, type CommandIo, isQuiet } from './command.ts';
import { printableReport } from './printable.ts';
import { widthOf } from './terminal-width.ts';
import { wrapText } from './wrap-text.ts';

/**
 * Prints a report on stdout: as JSON with `--json`, else as the text that `render` creates for the terminal's width, and
 * with `--quiet` not at all if nothing is wrong.
 */
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
