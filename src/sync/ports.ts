import type { Destination } from '../core/destination.ts';
import type { Instant } from '../core/instant.ts';
import type { KeptQuota } from '../core/quota.ts';
import type { Source } from '../core/source.ts';
import type { StateStore } from '../core/state-store.ts';
import type { RunProgressEvent } from './progress.ts';

/** An open mirror under its lock. */
export interface OpenMirror {
  readonly state: StateStore;
  destination(envId: string, run: number): Destination;
  /** Commits the writes that were waiting for the next commit. */
  keep(): Promise<void>;
  close(): Promise<void>;
}

export interface RunPorts {
  readonly source: Source;
  /** What requests of this process outside of any run left of the quota (R23). */
  readonly keptQuota?: KeptQuota | null;
  /** Whether there is a mirror yet: a run that fails before its first answer leaves no new file behind. */
  readonly mirrorExists: boolean;
  /** Opens the mirror, making it where there is none, and takes its lock. */
  openMirror(): Promise<OpenMirror>;
  /** The machine's clock; no decision depends on it (R1). */
  clock(): Instant;
  readonly signal: AbortSignal;
  onProgress(runProgressEvent: RunProgressEvent): void;
}
