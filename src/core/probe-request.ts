import { listAt } from './outage.ts';
import type { PageRequest } from './source.ts';

/** Where else an answer can be had. */
export interface ProbeTarget {
  /** Ids of environments. */
  readonly environments: readonly string[];
  /** Paths of lists under an environment. */
  readonly lists: readonly (readonly string[])[];
  /** Lists that say nothing new, as `listAt` names them. */
  readonly avoid: readonly string[];
}

/**
 * The lightest request that tells whether the service answers: one row of a list that has not failed, each turn of another
 * list of another environment, so that what is broken there alone passes for no outage (R9, R24). Where there is no other
 * list, one row of `own`.
 */
export function probeRequest(
  turn: number,
  { environments, lists, avoid }: ProbeTarget,
  own: readonly string[],
): PageRequest {
  const paths = pairs(environments.length, lists.length, turn).map(([environment, list]) => [
    environments[environment] ?? '',
    ...(lists[list] ?? []),
  ]);
  const path = paths.find((each) => !avoid.includes(listAt(each))) ?? own;
  return { path, query: { limit: 1 }, cursor: null };
}

/** Indices of all pairs, from that of a turn on: the next environment each turn, and with each round of them the next list. */
function pairs(environments: number, lists: number, turn: number): [environment: number, list: number][] {
  return Array.from({ length: environments * lists }, (_, i) => {
    const environment = (turn + i) % environments;
    return [environment, (environment + Math.floor((turn + i) / environments)) % lists];
  });
}
