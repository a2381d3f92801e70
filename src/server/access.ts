import { hash, timingSafeEqual } from 'node:crypto';
import type { ViewScope } from '../streams/endpoint.ts';

/** The owner of a token, and what they may see; null means unrestricted. */
export interface Principal {
  readonly name: string;
  readonly environments: ReadonlySet<string> | null;
  readonly scopes: ReadonlySet<ViewScope> | null;
  readonly assetIds: readonly string[] | null;
  /** Only assets at one of these paths or nested under one. */
  readonly paths: readonly string[] | null;
}

export const hasScope = ({ scopes }: Principal, scope: ViewScope): boolean => scopes?.has(scope) ?? true;

export interface TokenHash {
  readonly sha256: Buffer;
  readonly reader: Principal;
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

export function rootToken(name: string, token: string): TokenHash {
  const reader = { name, environments: null, scopes: null, assetIds: null, paths: null };
  return { sha256: sha256(token), reader };
}

/** The hash of an empty text, such as an unset variable. In a file of tokens it is a mistake. */
export const EMPTY_SHA256 = sha256('').toString('hex');

export function bearerToken(header = ''): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header)?.[1];
}

/** The owner of the token in the `Authorization` header; null if there is none. Every token takes the same time. */
export function identify(keys: readonly TokenHash[], header: string | undefined): Principal | null {
  const token = bearerToken(header);
  if (token === undefined) return null;
  const given = sha256(token);
  let found: Principal | null = null;
  for (const key of keys) if (timingSafeEqual(key.sha256, given)) found = key.reader;
  return found;
}
