import type { FastifyBaseLogger } from 'fastify';
import { SyncError } from '../core/errors.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { type Key, masterKey } from '../server/access.ts';
import { parseTokens } from '../server/tokens.ts';
import { readTextFile } from './read-text-file.ts';
import { warningsOfFile, warningsOfLimits } from './token-warnings.ts';

/** Who is let in. */
export interface Grants {
  /** A token that sees all. */
  readonly token: string | null;
  /** A JSON file of more tokens. */
  readonly tokensFile: string | null;
}

export interface Keyring {
  /** Reads the tokens. @throws SyncError `usage` for a file that cannot be read, or when nobody would be let in */
  load(): void;
  /** The keys at present. */
  keys(): readonly Key[];
  /** Reads the tokens again; what is wrong with them then is logged and changes nothing. */
  reload(): void;
}

export const letsNobodyIn = (why: string): SyncError => new SyncError('usage', `nobody would be let in: ${why}`);

interface KeyringPorts {
  readonly mirror: MirrorFile;
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>;
}

export function openKeyring(grants: Grants, { mirror, log }: KeyringPorts): Keyring {
  const { tokensFile } = grants;
  let keys: readonly Key[] = [];
  const read = (): void => {
    const found = keysOf(grants);
    if (found.length === 0) throw letsNobodyIn(`${tokensFile} names no token`);
    const ofFile = tokensFile === null ? [] : warningsOfFile(tokensFile);
    for (const warning of [...ofFile, ...warningsOfLimits(found, mirror)]) log.warn(warning);
    keys = found;
  };
  const reload = (): void => {
    try {
      read();
      log.info(`${tokensFile} read again: ${keys.length} tokens`);
    } catch (error) {
      log.error(`the tokens stay as they were: ${(error as Error).message}`);
    }
  };
  return { load: read, keys: () => keys, reload };
}

function keysOf({ token, tokensFile }: Grants): Key[] {
  const master = token === null ? [] : [masterKey('OBSYNC_SERVE_TOKEN', token)];
  return tokensFile === null ? master : [...master, ...parseTokens(tokensFile, readTextFile(tokensFile))];
}
