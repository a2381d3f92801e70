/** The assets one edge away, by asset. */
export type AssetEdges = ReadonlyMap<string, readonly string[]>;

/** The assets that a walk reaches, nearest first, without its start. Each comes once, so a cycle ends. */
export function reachedFrom(edges: AssetEdges, start: string): string[] {
  const met = new Set([start]);
  // A set may grow while it is iterated.
  for (const each of met) for (const end of edges.get(each) ?? []) met.add(end);
  met.delete(start);
  return [...met];
}

/** The nearest failing asset upstream; null if there is none. */
export function nearestFailing(upstream: AssetEdges, failing: ReadonlySet<string>, assetId: string): string | null {
  return reachedFrom(upstream, assetId).find((each) => failing.has(each)) ?? null;
}

/** Follows failing assets upstream to the first one. */
export function failureRoot(upstream: AssetEdges, failing: ReadonlySet<string>, assetId: string): string {
  const chain = new Set([assetId]);
  let root = assetId;
  for (const each of chain) {
    root = each;
    const next = nearestFailing(upstream, failing, each);
    if (next !== null) chain.add(next);
  }
  return root;
}
