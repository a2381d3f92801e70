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

/** The shop's home market goes without saying; what belongs to another one has it in its name. */
const MARKETS: readonly string[] = ['', 'eu', 'uk', 'jp'];

export const DOMAINS: readonly Domain[] = MARKETS.flatMap((market) =>
  domains.map((domain) => ofMarket(domain, market)),
);

function ofMarket(domain: Domain, market: string): Domain {
  if (market === '') return domain;
  const named = (name: string): string => `${market}_${name}`;
  return {
    ...domain,
    name: named(domain.name),
    team: `${domain.team} ${market.toUpperCase()}`,
    systems: domain.systems.map(named),
    entities: domain.entities.map(named),
  };
}
