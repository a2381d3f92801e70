import { X509Certificate } from 'node:crypto';
import { usageError } from '../core/errors.ts';
import { readOption } from './option-error.ts';
import { readTextFile } from './read-text-file.ts';

/** The certificates in the file of `caFile`, in PEM. @throws OptionError if there is none in it, or one is damaged */
export function readCertificates(caFile: string | undefined): string | null {
  return caFile === undefined ? null : readOption('caFile', () => readPem(caFile));
}

const BEGIN = '-----BEGIN CERTIFICATE-----';

/** The certificates in a file. @throws SyncError `usage` if there is none in it, or one is damaged */
export function readPem(path: string): string {
  const pem = readTextFile(path);
  const [, ...certificates] = pem.split(BEGIN);
  if (certificates.length === 0)
    throw usageError(`${path} contains no certificate: name a file in PEM (-----BEGIN CERTIFICATE-----)`);
  try {
    // TLS would pass over a damaged one, and over one that does not begin on a line of its own.
    return certificates.map((each) => new X509Certificate(BEGIN + each).toString()).join('\n');
  } catch (cause) {
    throw usageError(`a certificate in ${path} is damaged: copy it again`, { cause });
  }
}
