import type { Destination } from './destination.ts';
import type { StateStore } from './state-store.ts';

/** A mirror opened by its writer. */
export interface OpenMirror {
  readonly state: StateStore;
  destination(envId: string, run: number): Destination;
  /**
   * Makes this process the only writer of these environments (R26).
   * @throws SyncError `locked` if another process writes one of them
   */
  hold(envIds: readonly string[]): Promise<void>;
  /** Commits the pending writes. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
