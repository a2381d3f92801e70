import domains from './domains.json' with { type: 'json' };

/** The vocabulary of the sample: a shop that grew, told as domains. Only words, no rules. */
export interface Domain {
  readonly name: string;
  readonly team: string;
  readonly tags: readonly string[];
  /** The two systems its raw tables are loaded from. */
  readonly systems: readonly string[];
  readonly entities: readonly string[];
  /** Columns that hold amounts and counts, and columns that describe. */
  readonly measures: readonly string[];
  readonly attributes: readonly string[];
  readonly statuses: readonly string[];
}

export const DOMAINS: readonly Domain[] = domains;
