import type { OpenMirror } from '../core/ports/open-mirror.ts';
import type { Source } from '../core/ports/source.ts';
import type { KeptQuota } from '../core/quota/quota.ts';
import type { Instant } from '../core/time/instant.ts';
import type { RunProgressEvent } from './progress.ts';
import type { RunSummary } from './summary.ts';

export interface RunPorts {
  readonly source: Source;
  /** What this process's requests outside of runs left of the quota (R23). */
  readonly keptQuota?: KeptQuota | null;
  /**
   * Whether the mirror exists. If not, it is created after the first response, so a run that fails before leaves no
   * file.
   */
  readonly mirrorExists: boolean;
  /** Opens or creates the mirror, and takes its lock. */
  openMirror(): Promise<OpenMirror>;
  /** The machine's clock; no decision depends on it (R1). */
  clock(): Instant;
  readonly signal: AbortSignal;
  onProgress(event: RunProgressEvent): void;
  /** Called with the mirror still open; `envIds` are the environments that the run wrote. It never throws. */
  onEnd?(mirror: OpenMirror, summary: RunSummary, envIds: readonly string[]): Promise<void>;
}
