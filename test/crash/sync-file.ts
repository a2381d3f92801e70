import { SyncError } from '../../src/core/errors.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { fileError } from '../../src/destination/sqlite/file-error.ts';
import { mirrorExists } from '../../src/destination/sqlite/open.ts';
import { openLocked } from '../../src/destination/sqlite/open-locked.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { type RunOptions, runSync } from '../../src/sync/run.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import type { World } from '../model/world.ts';
import { DECISION_OPTIONS } from '../support/decision-options.ts';

export type SyncFileOptions = Partial<Pick<RunOptions, 'baseUrl' | 'full' | 'concurrency' | 'pageSize'>> & {
  /** How long commits that change nothing may wait to be batched. */
  readonly quietMs?: number;
};

/** How a run ended: with a summary, or with the error that the command reports. */
export interface Ended {
  readonly summary: RunSummary | null;
  readonly error: SyncError | null;
}

const OPTIONS: RunOptions = {
  baseUrl: 'http://world.test',
  ...DECISION_OPTIONS,
  pageSize: 2,
  catalogue: CATALOGUE,
  streams: CATALOGUE,
  environments: [],
  concurrency: 1,
};

/** Syncs all streams into a mirror file, opened and locked as by the command. */
export async function syncFile(
  path: string,
  world: World,
  { quietMs = 0, ...options }: SyncFileOptions = {},
): Promise<Ended> {
  const { signal } = new AbortController();
  const clock = () => instantOfMs(world.nowMs);
  const ports = {
    source: world.source(),
    mirrorExists: mirrorExists(path),
    openMirror: async () => openLocked(path, { stop: signal, quietMs, clock }),
    clock,
    signal,
    onProgress: () => {},
  };
  try {
    return { summary: await runSync(ports, { ...OPTIONS, ...options }), error: null };
  } catch (thrown) {
    const error = fileError(path, thrown);
    if (error instanceof SyncError) return { summary: null, error };
    throw error;
  }
}
