import { type CheckReport, doctor } from '../api/doctor.ts';
import type { CommandAction } from './command.ts';
import { serviceOptions } from './library-options.ts';
import { printReport } from './print.ts';

export const doctorCommand: CommandAction = async (args, io) => {
  const report = await doctor({
    ...serviceOptions(args, io),
    onProgress: ({ type: _, ...check }) => void (args['json'] === true || printReport(check, args, io, renderCheck)),
  });
  if (args['json'] === true) printReport(report, args, io, () => '');
  return { ok: 0, warning: 0, problem: 1, refused: 3 }[report.status];
};

function renderCheck({ check, status, text, advice }: CheckReport): string {
  const words = advice === null ? text : `${text}. ${advice}`;
  return `${status.padEnd(8)} ${check}: ${words}\n`;
}
