import { createSecureContext } from 'node:tls';
import { SyncError } from '../core/errors.ts';
import { readTextFile } from './read-text-file.ts';

/** A file of certificates in PEM. @throws SyncError `usage` if there is none in it, or one is damaged */
export function readCertificates(path: string): string {
  const pem = readTextFile(path);
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new SyncError('usage', `${path} contains no certificate: name a file in PEM (-----BEGIN CERTIFICATE-----)`);
  try {
    createSecureContext({ ca: pem });
    return pem;
  } catch (cause) {
    throw new SyncError('usage', `a certificate in ${path} is damaged: copy it again`, { cause });
  }
}
