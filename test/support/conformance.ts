import { describe } from 'vitest';
import { describeAlerts } from './conformance/alerts.ts';
import { describeCommits } from './conformance/commits.ts';
import { describeDayMeans } from './conformance/day-means.ts';
import { describeLookups } from './conformance/lookups.ts';
import { describePruning } from './conformance/pruning.ts';
import { describeRemovals } from './conformance/removals.ts';
import { describeReplacements } from './conformance/replacements.ts';
import { describeState } from './conformance/state.ts';
import { type MakeMirror, workbench } from './conformance/workbench.ts';

/** What every destination and its state must do. `make` creates a new, empty mirror. */
export function describeDestination(name: string, make: MakeMirror): void {
  describe(name, () => {
    const bench = workbench(make);
    describeAlerts(bench);
    describeCommits(bench);
    describeDayMeans(bench);
    describeLookups(bench);
    describePruning(bench);
    describeRemovals(bench);
    describeReplacements(bench);
    describeState(bench);
  });
}
