import { signal } from '@preact/signals';

/** The time for ages, in steps, so that the page changes only when an age may have. */
export const nowMs = signal(Date.now());

setInterval(() => {
  nowMs.value = Date.now();
}, 15_000);
