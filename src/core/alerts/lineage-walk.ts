/** The assets one edge away, by asset. */
export type AssetEdges = ReadonlyMap<string, readonly string[]>;

/** The assets that a walk reaches, nearest first, without its start. Each comes once, so a cycle ends. */
export function* reachedFrom(edges: AssetEdges, start: string): Generator<string, void> {
  const met = new Set([start]);
  // A set may grow while it is iterated.
  for (const each of met) {
    if (each !== start) yield each;
    for (const end of edges.get(each) ?? []) met.add(end);
  }
}

export function nearestFailing(upstream: AssetEdges, failing: ReadonlySet<string>, assetId: string): string | null {
  for (const each of reachedFrom(upstream, assetId)) if (failing.has(each)) return each;
  return null;
}

/** Follows failing assets upstream to the first one. Each asset's walk is done once. */
export function failureRoots(upstream: AssetEdges, failing: ReadonlySet<string>): (assetId: string) => string {
  const nearest = new Map<string, string | null>();
  return (assetId) => {
    const chain = new Set([assetId]);
    let root = assetId;
    for (const each of chain) {
      root = each;
      if (!nearest.has(each)) nearest.set(each, nearestFailing(upstream, failing, each));
      const next = nearest.get(each) ?? null;
      if (next !== null) chain.add(next);
    }
    return root;
  };
}
