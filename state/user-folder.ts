import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The base folders of a user's files (XDG base directories): the variable that names each, and where it is without. */
const BASES = { cache: ['XDG_CACHE_HOME', ['.cache']], state: ['XDG_STATE_HOME', ['.local', 'state']] } as const;

/** obsync's folder for one kind of this user's files. @throws without a home folder */
export function userFolder(kind: keyof typeof BASES): string {
  const [variable, usual] = BASES[kind];
  const stated = process.env[variable];
  return join(stated !== undefined && isAbsolute(stated) ? stated : join(homedir(), ...usual), 'obsync');
}
