import type { Stream } from '../core/stream.ts';

/** A catalogue entry. */
export type CatalogueEntry = Stream;

/** The service lists enabled and disabled rows separately. A full read needs both lists. */
export const ENABLED_AND_DISABLED = [{}, { disabled: 'true' }] as const;

export const ONE_READ = [{}] as const;
