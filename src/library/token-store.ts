import type { FastifyBaseLogger } from 'fastify';
import { SyncError } from '../core/errors.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { rootToken, type TokenHash } from '../server/access.ts';
import { parseTokens } from '../server/tokens.ts';
import { readTextFile } from './read-text-file.ts';
import { warningsOfFile, warningsOfLimits } from './token-warnings.ts';

/** Who is let in. */
export interface AuthOptions {
  /** A token that sees all. */
  readonly token: string | null;
  /** A JSON file of more tokens. */
  readonly tokensFile: string | null;
}

export interface TokenStore {
  /** Reads the tokens. @throws SyncError `usage` for a file that cannot be read, or when nobody would be let in */
  load(): void;
  /** The keys at present. */
  keys(): readonly TokenHash[];
  /** Reads the tokens again; what is wrong with them then is logged and changes nothing. */
  reload(): void;
}

export const admitsNobody = (why: string): SyncError => new SyncError('usage', `nobody would be let in: ${why}`);

interface KeyringPorts {
  readonly mirror: MirrorFile;
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>;
}

export function openTokenStore(authOptions: AuthOptions, { mirror, log }: KeyringPorts): TokenStore {
  const { tokensFile } = authOptions;
  let keys: readonly TokenHash[] = [];
  const read = (): void => {
    const found = keysOf(authOptions);
    if (found.length === 0) throw admitsNobody(`${tokensFile} names no token`);
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

function keysOf({ token, tokensFile }: AuthOptions): TokenHash[] {
  const master = token === null ? [] : [rootToken('OBSYNC_SERVE_TOKEN', token)];
  return tokensFile === null ? master : [...master, ...parseTokens(tokensFile, readTextFile(tokensFile))];
}
