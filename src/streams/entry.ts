import type { Stream } from '../core/stream.ts';
import type { CollectionEndpoint } from './endpoint.ts';

interface EntryParts<Name extends string> {
  readonly name: Name;
  /** How `serve` serves it; false if it does not. */
  readonly serve: CollectionEndpoint | false;
}

/** A stream of the catalogue. */
export type CatalogueEntry<Name extends string = string> = Stream & EntryParts<Name>;

type WithoutMarks<Each> = Each extends unknown ? Omit<Each, 'marks'> : never;

/** A collection as its own file states it. The catalogue adds the marks that other collections need from it. */
export type CollectionEntry<Name extends string = string> = WithoutMarks<Stream> & EntryParts<Name>;

/** The service lists enabled and disabled rows separately; a full read needs both lists. */
export const ENABLED_AND_DISABLED = [{}, { disabled: 'true' }] as const;

export const ONE_READ = [{}] as const;
