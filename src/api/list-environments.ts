import { type ListedEnvironment, reconcile } from '../core/schedule/environments.ts';
import { clock, type SyncSettings } from '../settings/sync-settings.ts';
import { resumeSource } from './session.ts';

/** The environments that the token may see. @throws SyncError */
export async function listEnvironments(
  settings: SyncSettings,
  signal: AbortSignal,
): Promise<readonly ListedEnvironment[]> {
  const source = await resumeSource(settings, { signal, onSourceEvent: () => {} });
  try {
    return reconcile(await source.environments(), [], clock()).listed;
  } finally {
    await source.close();
  }
}
