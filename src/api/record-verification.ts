import { clock, type SyncSettings } from '../settings/sync-settings.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import type { MirrorStore } from './mirror-store.ts';

/** Records the result of a verification of the whole mirror for those who read the mirror, if it can be written now. */
export async function recordVerification(
  store: MirrorStore,
  settings: SyncSettings,
  report: VerifyReport,
): Promise<void> {
  const isWhole = settings.environments.length === 0 && settings.streamNames.length === 0;
  if (!isWhole || report.error !== null || report.equal === null) return;
  await store.record({
    ended_at: clock(),
    depth: report.depth,
    equal: Number(report.equal),
    difference_count: report.findings.filter(({ repaired }) => !repaired).length,
  });
}
