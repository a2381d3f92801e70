import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import type { AskedStreams } from './sync-settings.ts';

/** Apart from the settings: the thread that reads the options has no use for the catalogue and its tables. */
export function streamsAskedFor({ streamNames, history }: AskedStreams): CatalogueEntry[] {
  return CATALOGUE.filter(
    ({ name, optional }) =>
      (streamNames.length === 0 ? !optional : streamNames.includes(name)) || (optional && history),
  );
}
