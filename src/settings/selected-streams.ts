import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import type { AskedStreams } from './sync-settings.ts';

export { STREAM_NAMES } from '../streams/catalogue.ts';

/** The entries of the streams that a run was asked to read. */
export function streamsAskedFor({ streamNames, history }: AskedStreams): CatalogueEntry[] {
  return CATALOGUE.filter(
    ({ name, optional }) =>
      (streamNames.length === 0 ? !optional : streamNames.includes(name)) || (optional && history),
  );
}
