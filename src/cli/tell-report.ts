import type { Arguments } from 'yargs';
import type { CommandIo } from './command.ts';
import { printableReport } from './printable.ts';
import { widthOf } from './screen.ts';
import { wrapped } from './wrapped.ts';

/** Says on stdout what a command has found: with `--json` as it is, else as `render` has it for a screen of that width. */
export function tellReport<Report>(
  report: Report,
  args: Arguments,
  commandIo: CommandIo,
  render: (report: Report, width: number | null) => string,
): void {
  const width = widthOf(process.stdout, commandIo.outIsTerminal);
  commandIo.out(
    args['json'] === true
      ? `${JSON.stringify(report, null, 2)}\n`
      : wrapped(render(printableReport(report), width), width),
  );
}
