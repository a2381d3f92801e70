import type { StorageLimits } from '../../src/core/decode/storage-limits.ts';
import type { Destination } from '../../src/core/ports/destination.ts';
import type { StateStore } from '../../src/core/ports/state-store.ts';
import type { Instant } from '../../src/core/time/instant.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { randomHex } from '../../state/run-log.ts';

/** Another mirror, to which all that is done to the file is done as well. */
export interface MirrorTwin {
  /** What one of the two cannot hold, neither does. */
  readonly limits: StorageLimits | null;
  /** The machine's clock of both. */
  readonly clock: () => Instant;
  /** What both take for random. */
  randomHex(): string;
  /** Writes to the file go through this, so that the twin sees what they change. */
  readonly file: MirrorFile;
  state(own: StateStore): StateStore;
  destination(own: Destination, where: { readonly envId: string; readonly run: number }): Destination;
  /** Waits until all has been done. @throws where an answer or a table differs */
  settled(): Promise<void>;
  /** As `settled`, for every view as well. */
  equal(): Promise<void>;
}

interface MirrorClockOptions {
  readonly clock: () => Instant;
  /** Whether there may be several environments. */
  readonly hasSeveralEnvironments: boolean;
}

export type MakeTwin = (file: MirrorFile, options: MirrorClockOptions) => MirrorTwin;

export const NO_TWIN: MakeTwin = (file, { clock }) => ({
  limits: null,
  clock,
  randomHex,
  file,
  state: (own) => own,
  destination: (own) => own,
  settled: async () => {},
  equal: async () => {},
});
