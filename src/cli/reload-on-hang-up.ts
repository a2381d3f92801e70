import type { RunningServer } from '../api/serve.ts';
import type { CommandArguments } from './command.ts';

interface HangUps {
  /** Call it once the server runs: it may have missed one. */
  started(server: RunningServer): void;
  dispose(): void;
}

/** Reloads the file of tokens, if there is one, on each SIGHUP. */
export function reloadOnHangUp(args: CommandArguments): HangUps {
  let server: RunningServer | null = null;
  let missed = false;
  const onHangUp = (): void => {
    if (server === null) missed = true;
    else server.reloadTokens();
  };
  if (args['tokens'] !== undefined) process.on('SIGHUP', onHangUp);
  return {
    started(running) {
      server = running;
      if (missed) running.reloadTokens();
    },
    dispose: () => void process.off('SIGHUP', onHangUp),
  };
}
