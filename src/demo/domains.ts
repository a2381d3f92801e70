import domains from './domains.json' with { type: 'json' };

/**
 * The words of the sample, a growing shop, by domain. `systems` are the two that its raw tables are loaded from;
 * `measures` are columns that hold amounts and counts, and `attributes` columns that describe.
 */
export type SampleDomain = (typeof domains)[number];

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
