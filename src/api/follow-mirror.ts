import type { ReplicaEvent } from '../destination/follow-replica.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { requireText } from '../settings/option-error.ts';
import type { MirrorOptions, OptionsNamed, ProgressOptions } from '../settings/options.ts';
import { withRunThread } from './thread/in-thread.ts';

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
