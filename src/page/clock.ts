import { signal } from '@preact/signals';
import { reportData } from './report-data.ts';

/** The time for ages, fixed in a report. It advances in steps, so the page redraws only if an age may have changed. */
export const nowMs = signal(reportData === null ? Date.now() : Date.parse(reportData.madeAt));

if (reportData === null)
  setInterval(() => {
    nowMs.value = Date.now();
  }, 15_000);
