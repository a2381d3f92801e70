import { createHash } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from '../core/errors.ts';

/**
 * Identifies where process ids are unique: one machine, or one container on it. Hashed, because others need not know
 * the host name.
 */
const PLACE = createHash('sha256').update(`${hostname()}\n${processNamespace()}`).digest('hex').slice(0, 16);

/** This process, for others that share the account's quota. */
export const OWN_PROCESS = `${PLACE}/${process.pid}`;

/** The Linux namespace of process ids; empty elsewhere. */
function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/**
 * Whether the owner of a request is a process of this place that no longer exists. Nothing is known of other places.
 */
export function isGone(owner: string): boolean {
  const [place, pid] = owner.split('/');
  if (place !== PLACE || !/^[1-9]\d*$/.test(pid ?? '')) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    // `EPERM`: it exists but belongs to another user.
    return errorCode(error) === 'ESRCH';
  }
}
