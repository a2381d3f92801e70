import type { CompareDepth } from '../core/difference.ts';
import { SyncError } from '../core/errors.ts';
import type { SourceEvent } from '../core/source.ts';
import type { VerifyProgress } from '../verify/verify.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import { DEFAULTS, DEPTHS } from './defaults.ts';
import { startRunThread } from './in-thread.ts';
import { oneOf } from './option-error.ts';
import type { ServiceOptions } from './options.ts';
import { syncSettings, watchOf } from './sync-settings.ts';

export interface VerifyOptions extends ServiceOptions {
  /** How closely to look; `rows` by default, which alone answers the whole question. */
  readonly depth?: CompareDepth | undefined;
  /** Writes what was found, under the lock of a sync. */
  readonly repair?: boolean | undefined;
  /** Told what the verification does. */
  readonly onProgress?: ((event: VerifyEvent) => void) | undefined;
}

/** What a verification tells while it goes on. */
export type VerifyEvent =
  | SourceEvent
  | ({ readonly type: 'progress' } & VerifyProgress)
  | { readonly type: 'failure'; readonly error: Error };

/** Whether the mirror equals the source now. @throws SyncError */
export async function verify(options: VerifyOptions): Promise<VerifyReport> {
  const depth = oneOf('depth', options.depth ?? DEFAULTS.depth, DEPTHS);
  const { onProgress: tell = () => {}, ...asked } = options;
  const settings = { ...syncSettings(asked), depth, repair: options.repair ?? DEFAULTS.repair };
  refuseUnverified(settings.streamNames, depth);
  const thread = startRunThread();
  try {
    return await thread.verify(settings, {
      signal: watchOf(asked).signal,
      onSourceEvent: tell,
      onProgress: (progress) => tell({ type: 'progress', ...progress }),
      onFailure: (error) => tell({ type: 'failure', error }),
    });
  } finally {
    await thread.close();
  }
}

/** @throws SyncError `usage` for what no verification can look at */
function refuseUnverified(streams: readonly string[], compareDepth: CompareDepth): void {
  if (streams.includes('test_executions'))
    throw new SyncError(
      'usage',
      'test_executions is not verified: the mirror keeps every run it has ever seen, the source shows 90 days',
    );
  if (
    compareDepth === 'count' &&
    streams.length > 0 &&
    !streams.some((name) => ['assets', 'table_assets'].includes(name))
  )
    throw new SyncError(
      'usage',
      '--depth count looks at tables alone: leave --stream out, or take --depth ids or rows',
    );
}
