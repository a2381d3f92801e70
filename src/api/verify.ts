import type { CompareDepth } from '../core/decide/difference.ts';
import { usageError } from '../core/errors.ts';
import { checkOptions } from '../settings/check-options.ts';
import { readChoice } from '../settings/option-error.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { CollectionsReport, OptionsNamed, ProgressOptions, ServiceOptions } from '../settings/options.ts';
import { syncSettings } from '../settings/sync-settings.ts';
import { refusedFs, refuseNetworkFs } from './open-store.ts';
import { withRunThread } from './thread/in-thread.ts';
import type { VerifyEvent } from './verify-mirror.ts';

export interface VerifyOptions
  extends ServiceOptions,
    ProgressOptions<VerifyEvent>,
    OptionsNamed<'replica' | 'depth' | 'repair'> {}

/** Compares the mirror with the current source. @throws SyncError */
export async function verify(options: VerifyOptions): Promise<CollectionsReport> {
  checkOptions(options);
  const depth = readChoice('depth', options.depth ?? OPTIONS.depth.default, OPTIONS.depth.choices);
  const { replica, repair = OPTIONS.repair.default, onProgress: _, ...serviceOptions } = options;
  const run = syncSettings(serviceOptions);
  refuseUnverified(run.streamNames, depth);
  if (repair) refuseNetworkFs(run);
  const settings = { ...run, replica, depth, repair, mayRecord: refusedFs(run) === null };
  const report = await withRunThread((thread) => thread.run('verify', settings, options));
  return report as CollectionsReport;
}

/** @throws SyncError `usage` for streams that cannot be verified */
function refuseUnverified(streams: readonly string[], depth: CompareDepth): void {
  if (streams.includes('test_executions'))
    throw usageError(
      'test_executions cannot be verified: the mirror keeps every execution, but the source returns only 90 days; leave it out of --stream',
    );
  if (depth === 'count' && streams.length > 0 && !streams.some((name) => ['assets', 'table_assets'].includes(name)))
    throw usageError(
      '--depth count compares only the number of tables: leave --stream out, or use --depth ids or --depth rows',
    );
}
