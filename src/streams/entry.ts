import type { Stream } from '../core/stream.ts';
import type { CollectionEndpoint } from './endpoint.ts';

interface EntryParts<Name extends string> {
  readonly name: Name;
  /** How it is served, or that it is not. */
  readonly serve: CollectionEndpoint | false;
}

/** A stream of the catalogue. */
export type CatalogueEntry<Name extends string = string> = Stream & EntryParts<Name>;

type WithoutMarks<Each> = Each extends unknown ? Omit<Each, 'marks'> : never;

/** What a file of this folder says of a collection. Its place in the catalogue adds the marks that the others want of it. */
export type CollectionEntry<Name extends string = string> = WithoutMarks<Stream> & EntryParts<Name>;

/** The service lists enabled and disabled rows separately. A full read needs both lists. */
export const ENABLED_AND_DISABLED = [{}, { disabled: 'true' }] as const;

export const ONE_READ = [{}] as const;
