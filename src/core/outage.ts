/**
 * What failed since the service last answered (R24). One list that fails says nothing of the others; when several fail one
 * after the other the service is away, and as long as it is one request at a time is enough.
 */
export interface OutageState {
  /** Lists of which a request failed, each once. */
  readonly lists: readonly string[];
  /** Tries that failed since the service is taken to be away. */
  readonly probes: number;
}

export const NO_OUTAGE: OutageState = { lists: [], probes: 0 };

/** So many lists in a row make an outage. */
const LISTS_OF_AN_OUTAGE = 3;

/** A request for the list at this path failed: the connection, the time or the service (5xx), and not what was asked for. */
export function listFailed(outageState: OutageState, path: readonly string[]): OutageState {
  const list = listAt(path);
  return outageState.lists.includes(list) ? outageState : { ...outageState, lists: [...outageState.lists, list] };
}

export function probeFailed(outageState: OutageState): OutageState {
  return { ...outageState, probes: outageState.probes + 1 };
}

export function isAway({ lists }: OutageState): boolean {
  return lists.length >= LISTS_OF_AN_OUTAGE;
}

/** Whether the probe has had all its tries. */
export function isOver({ probes }: OutageState, retries: number): boolean {
  return probes > retries;
}

/** The list that a path under `/public/beta` belongs to: the histories of all tests of an environment are one. */
export function listAt(path: readonly string[]): string {
  const [environment = '', ...rest] = path;
  const segments = rest.length === 3 ? [rest[0], '{id}', rest[2]] : rest;
  return JSON.stringify([environment, ...segments]);
}
