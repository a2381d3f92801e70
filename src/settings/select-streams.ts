import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import type { StreamSelection } from './sync-settings.ts';

/** The catalogue entries of the streams that a run reads. */
export function selectStreams({ streamNames, history }: StreamSelection): CatalogueEntry[] {
  return CATALOGUE.filter(
    ({ name, optional }) =>
      (streamNames.length === 0 ? !optional : streamNames.includes(name)) || (optional && history),
  );
}
