import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import type { AskedStreams } from './sync-settings.ts';

/** In a file separate from the settings: the thread that reads the options does not need the catalogue and its tables. */
export function streamsAskedFor({ streamNames, history }: AskedStreams): CatalogueEntry[] {
  return CATALOGUE.filter(
    ({ name, optional }) =>
      (streamNames.length === 0 ? !optional : streamNames.includes(name)) || (optional && history),
  );
}
