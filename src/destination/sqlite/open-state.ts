import { clockOfOneWriter } from '../../../state/mirror-clock.ts';
import { randomHex as newRandomHex } from '../../../state/run-log.ts';
import { createStateStore } from '../../../state/state-store.ts';
import type { StateStore } from '../../core/ports/state-store.ts';
import type { Instant } from '../../core/time/instant.ts';
import { readState, type StateFile, writeState } from './file-state.ts';

/** The state of an SQLite mirror. `now` is the machine's clock, which stamps what is written. */
export function fileState(mirror: StateFile, now: () => Instant, randomHex = newRandomHex): StateStore {
  return createStateStore(
    {
      read: async (statementsOf) => readState(mirror, statementsOf()),
      write: async (statementsOf) => writeState(mirror, statementsOf()),
    },
    { name: mirror.path, clock: clockOfOneWriter(now), randomHex },
  );
}
