import { signal } from '@preact/signals';
import { reportData } from './report-data.ts';

/** The time for ages, in steps, so that the page changes only when an age may have. In a report it stands still. */
export const nowMs = signal(reportData === null ? Date.now() : Date.parse(reportData.madeAt));

if (reportData === null)
  setInterval(() => {
    nowMs.value = Date.now();
  }, 15_000);
