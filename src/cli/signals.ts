/** A wish to stop, from SIGINT or SIGTERM (R27). */
export interface Stop {
  readonly signal: AbortSignal;
  received(): NodeJS.Signals | null;
  dispose(): void;
}

/** Stops cleanly at the first signal; a second one ends the process as if nobody listened. */
export function stopOnSignals(): Stop {
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    received = signal;
    dispose();
    controller.abort();
  };
  const dispose = (): void => {
    for (const name of SIGNALS) process.off(name, onSignal);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return { signal: controller.signal, received: () => received, dispose };
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
