/**
 * What has failed since the service last responded (R24). One failing list may be its own problem. If several lists
 * fail in a row the service is down, and only one request at a time is sent, as a probe.
 */
export interface OutageState {
  /** The lists with a failed request, each once. */
  readonly lists: readonly string[];
  /** How many probes have failed since the service went down. */
  readonly probes: number;
}

export const NO_OUTAGE: OutageState = { lists: [], probes: 0 };

/** If this many lists fail in a row, the service is down. */
const LISTS_OF_AN_OUTAGE = 3;

/** Records that a request under this path failed by a connection fault, a time-out or a 5xx. */
export function listFailed(state: OutageState, path: readonly string[]): OutageState {
  const list = listAt(path);
  return state.lists.includes(list) ? state : { ...state, lists: [...state.lists, list] };
}

export function probeFailed(state: OutageState): OutageState {
  return { ...state, probes: state.probes + 1 };
}

export function isServiceDown({ lists }: OutageState): boolean {
  return lists.length >= LISTS_OF_AN_OUTAGE;
}

/** Whether all tries of the probe are used up. */
export function isOver({ probes }: OutageState, retries: number): boolean {
  return probes > retries;
}

/** The list of a path under `/public/beta`. The histories of all tests of an environment count as one list. */
export function listAt(path: readonly string[]): string {
  const [environment = '', ...rest] = path;
  const segments = rest.length === 3 ? [rest[0], '{id}', rest[2]] : rest;
  return JSON.stringify([environment, ...segments]);
}
