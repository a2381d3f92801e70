import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { requireText } from '../settings/option-error.ts';
import type { MirrorOptions, OptionsNamed, StopOptions } from '../settings/options.ts';
import type { VerifyExportReport } from './compare-export.ts';
import { withRunThread } from './thread/in-thread.ts';

export interface VerifyExportOptions extends MirrorOptions, StopOptions, OptionsNamed<'replica'> {
  /** The folder of the export, or its address in object storage. */
  readonly against: string;
}

/** Compares all rows, and the bytes of all files, of an export with the mirror, in a thread. @throws SyncError */
export async function verifyExport(options: VerifyExportOptions): Promise<VerifyExportReport> {
  checkOptions(options);
  const db = givenAddress(options);
  const { replica } = options;
  const against = requireText('against', options.against, 'no export folder: name one with --against');
  return withRunThread((thread) => thread.run('verifyExport', { db, replica, against }, options));
}
