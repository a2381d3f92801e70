import type { FastifyBaseLogger } from 'fastify';
import { counted } from '../core/counted.ts';
import { SyncError } from '../core/errors.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { rootToken, type TokenHash } from '../server/access.ts';
import { parseTokens } from '../server/tokens.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { warningsOfFile, warningsOfLimits } from './token-warnings.ts';

export interface AuthOptions {
  /** An unrestricted token. */
  readonly token: string | null;
  /** A JSON file of more tokens. */
  readonly tokensFile: string | null;
}

export interface TokenStore {
  /** @throws SyncError `usage` if the file cannot be read or no token would be accepted */
  load(): void;
  keys(): readonly TokenHash[];
  /** Reloads the tokens. If they are invalid, the error is logged and the old tokens stay. */
  reload(): void;
}

export const noToken = (why: string): SyncError => new SyncError('usage', `no token would be accepted: ${why}`);

interface TokenStorePorts {
  readonly mirror: MirrorFile;
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>;
}

export function openTokenStore(auth: AuthOptions, { mirror, log }: TokenStorePorts): TokenStore {
  const { tokensFile } = auth;
  let keys: readonly TokenHash[] = [];
  const read = (): void => {
    const found = keysOf(auth);
    if (found.length === 0) throw noToken(`${tokensFile} contains no token`);
    const ofFile = tokensFile === null ? [] : warningsOfFile(tokensFile);
    for (const warning of [...ofFile, ...warningsOfLimits(found, mirror)]) log.warn(warning);
    keys = found;
  };
  const reload = (): void => {
    try {
      read();
      log.info(`${tokensFile} was reloaded: ${counted(keys.length, 'token')}`);
    } catch (error) {
      log.error(`the tokens were not reloaded: ${(error as Error).message}`);
    }
  };
  return { load: read, keys: () => keys, reload };
}

function keysOf({ token, tokensFile }: AuthOptions): TokenHash[] {
  const root = token === null ? [] : [rootToken('OBSYNC_SERVE_TOKEN', token)];
  return tokensFile === null ? root : [...root, ...parseTokens(tokensFile, readTextFile(tokensFile))];
}
