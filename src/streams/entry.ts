import type { Stream } from '../core/stream.ts';

/** A stream of the catalogue. */
export type CatalogueEntry<Name extends string = string> = Stream & { readonly name: Name };

type WithoutMarks<Each> = Each extends unknown ? Omit<Each, 'marks'> : never;

/** What a file of this folder says of a collection. Its place in the catalogue adds the marks that the others want of it. */
export type CollectionEntry<Name extends string = string> = WithoutMarks<Stream> & { readonly name: Name };

/** The service lists enabled and disabled rows separately. A full read needs both lists. */
export const ENABLED_AND_DISABLED = [{}, { disabled: 'true' }] as const;

export const ONE_READ = [{}] as const;
