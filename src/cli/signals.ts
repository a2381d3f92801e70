/** A wish to stop, from SIGINT or SIGTERM (R27). */
export interface Stop {
  readonly signal: AbortSignal;
  received(): NodeJS.Signals | null;
  dispose(): void;
}

/** Stops cleanly at the first signal; a second one, a moment later, ends the process as if nobody listened. */
export function stopOnSignals(): Stop {
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    received = signal;
    // Not at once: the listener that restores the cursor is told next, and ends the process when it finds itself alone;
    // and npm passes on a Ctrl-C that the terminal has already sent.
    setTimeout(dispose, PATIENCE_MS).unref();
    controller.abort();
  };
  const dispose = (): void => {
    for (const name of SIGNALS) process.off(name, onSignal);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return { signal: controller.signal, received: () => received, dispose };
}

const PATIENCE_MS = 1000;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
