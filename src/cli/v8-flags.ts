import { setFlagsFromString } from 'node:v8';

/** Limits the heap of the whole process. Only the program does this; a library must not. */
export function limitHeap(): void {
  // Pages are short-lived. A growing young generation takes 100 MiB more and saves no time.
  setFlagsFromString('--semi-space-growth-factor=1');
  // Collects garbage once it is as large as the live data. The default allows three times as much: 30 MiB more (R27).
  setFlagsFromString('--heap-growing-percent=100');
  // The first compilation of the HTTP parser is good enough. The second takes 20 MiB and saves no time.
  setFlagsFromString('--wasm-tiering-budget=1000000000');
}
