import { exitCodeOfSignal } from './exit-code.ts';

/** A wish to stop, from SIGINT or SIGTERM (R27). */
export interface StopRequest {
  readonly signal: AbortSignal;
  received(): NodeJS.Signals | null;
  dispose(): void;
}

/**
 * Stops cleanly at the first signal; a second one, a moment later, ends the process as if nobody listened. So does the first where
 * nothing has come of it in time: SQLite cannot be interrupted, and takes back at the next opening what it had not committed (R5);
 * it is then told what was `cutOff`.
 */
export function stopOnSignals(cutOff = LONG_WRITE): StopRequest {
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  let deadline: NodeJS.Timeout | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    received ??= signal;
    // Not at once: the listener that restores the cursor is told next, and ends the process when it finds itself alone;
    // and npm passes on a Ctrl-C that the terminal has already sent.
    setTimeout(ignore, PATIENCE_MS).unref();
    deadline ??= setTimeout(endBy, DEADLINE_MS, signal, cutOff).unref();
    controller.abort();
  };
  const ignore = (): void => {
    for (const name of SIGNALS) process.off(name, onSignal);
  };
  const dispose = (): void => {
    ignore();
    clearTimeout(deadline);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return { signal: controller.signal, received: () => received, dispose };
}

const LONG_WRITE = 'a long write: the next run begins it anew';

const PATIENCE_MS = 1000;

/** After the three seconds that a request in flight has, and before the five of the whole stop. */
const DEADLINE_MS = 4000;

/** Ends the process by the signal itself: `process.exit` would wait for the thread that is in SQLite. */
function endBy(signal: NodeJS.Signals, cutOff: string): void {
  const cursor = process.stderr.isTTY ? SHOW_CURSOR : '';
  process.stderr.write(`${cursor}obsync: stopped in the middle of ${cutOff}\n`);
  process.removeAllListeners(signal);
  if (process.pid === FIRST_PID) replaceBy(exitCodeOfSignal(signal));
  else process.kill(process.pid, signal);
}

/** As the first process of a container no signal ends it that nobody listens to. */
const FIRST_PID = 1;

/** Whatever its threads are at, they end when another program takes the place of this one. */
function replaceBy(exitCode: number): void {
  process.execve?.(process.execPath, [process.execPath, '--eval', `process.exitCode = ${exitCode}`], process.env);
}

const SHOW_CURSOR = '\u001B[?25h';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
