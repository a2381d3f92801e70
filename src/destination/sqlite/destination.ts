import { clockOfOneWriter } from '../../../state/mirror-clock.ts';
import type { AlertRule } from '../../core/alerts/alert.ts';
import type { Destination } from '../../core/ports/destination.ts';
import type { Instant } from '../../core/time/instant.ts';
import { backlog } from '../sql/backlog.ts';
import { commitStatements } from '../sql/commit.ts';
import { renewDay } from '../sql/health-means.ts';
import { dueTests, existingRows, existingWithChildren, facts, outstandingCounts, resumePoint } from '../sql/lookups.ts';
import { pruneHistory } from '../sql/prune-history.ts';
import type { SqlStatements } from '../sql/statements.ts';
import { perform, portMethods, sqliteScope } from './driver.ts';
import { withFileErrors } from './file-error.ts';
import type { MirrorFile } from './open.ts';

interface DestinationOptions {
  readonly envId: string;
  readonly run: number;
  readonly clock: () => Instant;
  readonly alertRules?: readonly AlertRule[] | undefined;
}

export function createSqliteDestination(mirror: MirrorFile, options: DestinationOptions): Destination {
  const { envId, run, clock, alertRules } = options;
  const scope = sqliteScope(mirror, envId);
  const facing = withFileErrors(mirror.path);
  const asking = portMethods(mirror);
  const moving = clockOfOneWriter(clock);
  const counting = <Given extends unknown[]>(statementsOf: (...given: Given) => SqlStatements<number | null>) =>
    facing(
      (...given: Given) =>
        mirror.transactions.write(() => ({ isQuiet: false, count: perform(mirror.prepare, statementsOf(...given)) }))
          .count,
    );
  return {
    load: asking((stream) => resumePoint(scope, stream)),
    facts: asking((stream, query) => facts(scope, stream, { ...query, run })),
    existing: asking((stream, keys) => existingRows(scope, stream, keys)),
    existingWithChildren: asking((stream, keys) => existingWithChildren(scope, stream, keys)),
    backlog: asking((stream, query) => backlog(scope, stream, query)),
    dueTests: asking((query) => dueTests(scope, query)),
    outstanding: asking((stream) => outstandingCounts(scope, stream)),
    commit: facing((stream, commit, marking) => {
      const statements = commitStatements(scope, stream, { commit, run, clock: moving, marking, alertRules });
      return mirror.transactions.write(() => perform(mirror.prepare, statements));
    }),
    renewDay: counting(() => renewDay(scope)),
    pruneHistory: counting((rule) => pruneHistory(scope, rule, moving)),
  };
}
