import { statSync } from 'node:fs';
import { usageError } from '../core/errors.ts';
import { TOKEN_PATTERN } from '../core/read-api.ts';
import type { ServiceOptions } from './options.ts';
import { readTextFile } from './read-text-file.ts';

/** Finds the access token (R25), and its place for messages. @throws SyncError `usage` if there is no token, or two */
export function readToken(options: Pick<ServiceOptions, 'token' | 'tokenFrom' | 'tokenFile'>) {
  const { tokenFile, tokenFrom = options.token === undefined ? 'OBSYNC_TOKEN' : 'the option token' } = options;
  const given = (options.token ?? process.env['OBSYNC_TOKEN'] ?? '').trim();
  if (tokenFile === undefined) {
    if (given === '')
      throw usageError('no access token: set OBSYNC_TOKEN, or name a file that contains it with --token-file');
    return checked(given, tokenFrom);
  }
  if (given !== '')
    throw usageError(
      `two access tokens, one in ${tokenFrom} and one in the token file ${tokenFile}: remove one of them`,
    );
  return checked(readTextFile(tokenFile).trim(), `the token file ${tokenFile}`);
}

function checked(token: string, tokenFrom: string) {
  if (token === '') throw usageError(`${tokenFrom} is empty: write the access token into it`);
  if (/^bearer\s/i.test(token))
    throw usageError(`the access token in ${tokenFrom} begins with Bearer: remove the word Bearer`);
  if (TOKEN_PATTERN.test(token)) return { token, tokenFrom };
  throw usageError(
    `the access token in ${tokenFrom} contains characters that an HTTP header cannot carry: copy the token again`,
  );
}

export function isReadByAll(path: string): boolean {
  try {
    return process.platform !== 'win32' && (statSync(path).mode & 0o004) !== 0;
  } catch {
    // Reading it says why.
    return false;
  }
}
