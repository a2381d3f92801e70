import { setFlagsFromString } from 'node:v8';

/** Limits the heap of the whole process. Only the program does so; a library must not. */
export function limitHeap(): void {
  // Pages are short-lived. A young generation that keeps growing takes 100 MiB more and saves no time.
  setFlagsFromString('--semi-space-growth-factor=1');
  // Collects garbage when it is as large as the live data. By default it may be three times as large: 30 MiB more
  // (R27).
  setFlagsFromString('--heap-growing-percent=100');
  // The first compilation of the HTTP parser is good enough. The second takes 20 MiB and saves no time.
  setFlagsFromString('--wasm-tiering-budget=1000000000');
}
