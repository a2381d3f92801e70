import domains from './domains.json' with { type: 'json' };

/** The words of the sample, a growing shop, by domain; no rules. */
export interface SampleDomain {
  readonly name: string;
  readonly team: string;
  readonly tags: readonly string[];
  /** The two systems that its raw tables are loaded from. */
  readonly systems: readonly string[];
  readonly entities: readonly string[];
  /** Columns that hold amounts and counts, and columns that describe. */
  readonly measures: readonly string[];
  readonly attributes: readonly string[];
  readonly statuses: readonly string[];
}

/** Tables of the home market have no market in their names; tables of other markets do. */
const MARKETS: readonly string[] = ['', 'eu', 'uk', 'jp'];

export const DOMAINS: readonly SampleDomain[] = MARKETS.flatMap((market) =>
  domains.map((domain) => ofMarket(domain, market)),
);

function ofMarket(domain: SampleDomain, market: string): SampleDomain {
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
