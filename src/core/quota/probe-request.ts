import type { PageRequest } from '../ports/source.ts';
import { listAt } from './outage.ts';

/** Where a probe may be sent. */
export interface ProbeTarget {
  /** The ids of environments. */
  readonly environments: readonly string[];
  /** The paths of lists under an environment. */
  readonly lists: readonly (readonly string[])[];
  /** Lists that have failed, by their names from `listAt`. */
  readonly avoid: readonly string[];
}

/**
 * The lightest request that shows whether the service responds: one row of a list that has not failed. Each turn takes
 * another list and environment, so one broken list is not mistaken for an outage (R9, R24). If every list has failed,
 * it requests one row of `own`.
 */
export function probeRequest(
  turn: number,
  { environments, lists, avoid }: ProbeTarget,
  own: readonly string[],
): PageRequest {
  const paths = Array.from({ length: environments.length * lists.length }, (_, i) =>
    pathOf(turn + i, environments, lists),
  );
  const path = paths.find((each) => !avoid.includes(listAt(each))) ?? own;
  return { path, query: { limit: 1 }, cursor: null };
}

/** The list of a turn: each turn takes the next environment; after the last one, each takes its next list. */
function pathOf(turn: number, environments: readonly string[], lists: ProbeTarget['lists']): readonly string[] {
  const environment = turn % environments.length;
  const list = (environment + Math.floor(turn / environments.length)) % lists.length;
  return [environments[environment] ?? '', ...(lists[list] ?? [])];
}
