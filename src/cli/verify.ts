import { verify } from '../api/verify.ts';
import { closeAfter } from '../core/close-after.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import { serviceOptions } from './library-options.ts';
import { printFailure, printReport } from './print.ts';
import { exitCodeAfter, LONG_WRITE, untilSignal } from './signals.ts';
import { renderVerify, watchVerify } from './verify-view.ts';

export const verifyCommand = untilSignal(LONG_WRITE, async (args, io, { signal, received }) => {
  io.limitHeap();
  const options = { ...serviceOptions(args, io), signal };
  const report: VerifyReport = await closeAfter(await watchVerify(io, args), ({ onProgress }) =>
    verify({ ...options, onProgress }),
  );
  const verbose = args['verbose'] === true;
  const render = (shown: VerifyReport, width: number | null) => renderVerify(shown, width, verbose);
  if (args['json'] === true || report.environments.length > 0)
    printReport(report, args, io, render, report.equal === true && report.repair === null);
  if (report.error !== null) await printFailure(report.error, args, io);
  return exitCodeAfter({ ...report, status: report.equal === true ? 'done' : 'problems' }, received());
});
