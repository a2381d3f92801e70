import { hash, timingSafeEqual } from 'node:crypto';
import type { ViewScope } from '../streams/endpoint.ts';

/** What the bearer of a token may see; null stands for all. */
export interface Principal {
  readonly name: string;
  readonly environments: ReadonlySet<string> | null;
  readonly scopes: ReadonlySet<ViewScope> | null;
  readonly assetIds: readonly string[] | null;
  /** Assets at one of these paths, or nested under one. */
  readonly paths: readonly string[] | null;
}

/** A token, known only by its hash. */
export interface TokenHash {
  readonly sha256: Buffer;
  readonly reader: Principal;
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** The hash of an unrestricted token. */
export function rootToken(name: string, token: string): TokenHash {
  return {
    sha256: sha256(token),
    reader: { name, environments: null, scopes: null, assetIds: null, paths: null },
  };
}

/** The hash of an empty text, such as a variable that is not set. In a file of tokens it is a mistake. */
export const EMPTY_SHA256 = sha256('').toString('hex');

/**
 * Who the token in the `Authorization` header belongs to; null for an unknown token or none. It takes the same time for
 * every token.
 */
export function identify(keys: readonly TokenHash[], header: string | undefined): Principal | null {
  const [, token] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  if (token === undefined) return null;
  const given = sha256(token);
  let found: Principal | null = null;
  for (const key of keys) if (timingSafeEqual(key.sha256, given)) found = key.reader;
  return found;
}
