import type { StorageLimits } from '../../src/core/decode/storage-limits.ts';
import type { Destination } from '../../src/core/ports/destination.ts';
import type { StateStore } from '../../src/core/ports/state-store.ts';
import type { Instant } from '../../src/core/time/instant.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { randomHex } from '../../state/run-log.ts';

/** A second mirror that repeats every operation on the file. */
export interface MirrorTwin {
  /** The storage limits of both: neither stores what the other cannot. */
  readonly limits: StorageLimits | null;
  /** The clock of both. */
  readonly clock: () => Instant;
  /** The random source of both. */
  randomHex(): string;
  /** Writes to the file go through this, so the twin sees their changes. */
  readonly file: MirrorFile;
  state(own: StateStore): StateStore;
  destination(own: Destination, where: { readonly envId: string; readonly run: number }): Destination;
  /** Refreshes a replica of the twin as of now. @returns its path; without a twin, that of the file */
  replica(): Promise<string>;
  /** Waits until all operations are done. @throws if a result or a table differs */
  settled(): Promise<void>;
  /** Like `settled`, and compares every view. */
  equal(): Promise<void>;
}

interface MirrorClockOptions {
  readonly clock: () => Instant;
  /** Whether the world may have several environments. */
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
  replica: async () => file.path,
  settled: async () => {},
  equal: async () => {},
});
