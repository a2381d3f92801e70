import { createHash } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Where process ids mean the same: one machine, or one container of it. Hashed, since others need not know the name.
 */
const PLACE = createHash('sha256').update(`${hostname()}\n${processNamespace()}`).digest('hex').slice(0, 16);

/** This process, for others that share the account's quota. */
export const OWN_PROCESS = `${PLACE}/${process.pid}`;

/** The namespace of process ids on Linux; empty elsewhere. */
function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/**
 * Whether the owner of a request is a process of this place that no longer exists. Of other places nothing is known.
 */
export function isGone(owner: string): boolean {
  const [place, pid] = owner.split('/');
  if (place !== PLACE || !/^[1-9]\d*$/.test(pid ?? '')) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    // `EPERM`: it exists, and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
