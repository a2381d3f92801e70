import type { CopyEvent, CopyReport } from '../destination/copy-mirror.ts';
import type { ReplicaEvent } from '../destination/follow-replica.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { readOption, requireText } from '../settings/option-error.ts';
import type { MirrorOptions, OptionsNamed, ProgressOptions } from '../settings/options.ts';
import { refuseNetworkFs } from './open-store.ts';
import { withRunThread } from './thread/in-thread.ts';

/** `onProgress` receives an event for each table. If the copy is stopped, what was copied is removed. */
export interface CopyOptions extends MirrorOptions, ProgressOptions<CopyEvent>, OptionsNamed<'allowNetworkFs'> {
  /** The destination: a new file, or an address in PostgreSQL that contains no mirror yet. */
  readonly to: string;
}

/**
 * Copies a mirror with all its state, as of one instant: from a file to PostgreSQL, back, or between places of the same
 * kind. The next sync into the copy continues where the original was. Runs in a separate thread.
 * @throws SyncError
 */
export async function copy(options: CopyOptions): Promise<CopyReport> {
  checkOptions(options);
  const { allowNetworkFs } = options;
  const db = givenAddress(options);
  const to = requireText('to', options.to, 'no destination for the copy: name one with --to');
  readOption('to', () => addressOf(to));
  refuseNetworkFs({ db: to, allowNetworkFs });
  return withRunThread((thread) => thread.run('copy', { db, to }, options));
}

/** `onProgress` receives an event for each refresh. Only `signal` ends the copy. */
export interface FollowOptions extends MirrorOptions, ProgressOptions<ReplicaEvent>, OptionsNamed<'allowNetworkFs'> {
  /** The file of the replica. */
  readonly to: string;
}

/** Keeps a file equal to a mirror in PostgreSQL until the signal, in a thread. @throws SyncError */
export async function followMirror(options: FollowOptions): Promise<void> {
  checkOptions(options);
  const db = givenAddress(options);
  const replica = requireText('to', options.to, 'no file for the replica: name one with --to');
  const { allowNetworkFs } = options;
  await withRunThread((thread) => thread.run('follow', { db, replica, allowNetworkFs }, options));
}
