import { signal } from '@preact/signals';
import { reportData } from './report-data.ts';

/**
 * The current time for ages. It advances in steps, so the page redraws only if an age may have changed; in a report it
 * is fixed.
 */
export const nowMs = signal(reportData === null ? Date.now() : Date.parse(reportData.madeAt));

if (reportData === null)
  setInterval(() => {
    nowMs.value = Date.now();
  }, 15_000);
