import { plan } from '../api/plan.ts';
import { serviceOptions } from './library-options.ts';
import { renderForecast } from './plan-view.ts';
import { printReport } from './print-report.ts';
import { watchRun, withView } from './progress-view.ts';
import { untilSignal } from './signals.ts';

export const planCommand = untilSignal('a long read: nothing was changed', async (args, io, { signal }) => {
  const options = { ...serviceOptions(args, io), signal };
  const report = await withView(await watchRun(io, args), (onProgress) => plan({ ...options, onProgress }));
  printReport(report, args, io, renderForecast);
  return 0;
});
