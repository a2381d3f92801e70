export interface Measured {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** CPU time per request, user and system, of the process under load. */
  readonly cpuMs: number;
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
