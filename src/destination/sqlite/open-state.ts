import { clockOfOneWriter } from '../../../state/mirror-clock.ts';
import { createStateStore } from '../../../state/state-store.ts';
import type { StateStore } from '../../core/ports/state-store.ts';
import type { Instant } from '../../core/time/instant.ts';
import { perform, performAtOnce } from './driver.ts';
import type { MirrorFile } from './open.ts';

/** The state of an SQLite mirror. `now` is the machine's clock, which stamps what is written. */
export function fileState(
  mirror: Pick<MirrorFile, 'path' | 'connection' | 'prepare'>,
  now: () => Instant,
  randomHex?: () => string,
): StateStore {
  return createStateStore(
    {
      read: async (statementsOf) => perform(mirror.prepare, statementsOf()),
      write: async (statementsOf) => performAtOnce(mirror, statementsOf()),
    },
    { name: mirror.path, clock: clockOfOneWriter(now), randomHex },
  );
}
