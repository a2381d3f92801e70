import type { MirrorClock } from '../../../state/mirror-clock.ts';
import type { StateStatements } from '../../../state/state-statements.ts';
import type { AlertRule } from '../../core/alerts/alert.ts';
import type { PruningRule } from '../../core/decide/retention.ts';
import { SyncError, translateErrors } from '../../core/errors.ts';
import type { Backlog, BacklogQuery, Commit, Destination, FactsQuery } from '../../core/ports/destination.ts';
import type { Stream, StreamName } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import { backlog, dependsOnSeen } from '../sql/backlog.ts';
import { commitStatements } from '../sql/commit.ts';
import { renewDay } from '../sql/health-means.ts';
import { dueTests, existingRows, existingWithChildren, facts, outstandingCounts, resumePoint } from '../sql/lookups.ts';
import { pruneHistory } from '../sql/prune-history.ts';
import { writeNoted } from '../sql/seen-keys.ts';
import type { MirrorScope, SqlStatements } from '../sql/statements.ts';
import { POSTGRES } from './dialect.ts';
import { performOn } from './driver.ts';
import { lockEnvironment, lostCommits, type WriterLease } from './leases.ts';
import { type RetryWaiting, withRetry, writeOnce } from './retry.ts';
import type { PostgresDatabase, TransactionUse } from './transaction.ts';

/** The environment to write, the run, the machine's clock, and how to wait before a retry. */
interface PostgresOptions extends RetryWaiting {
  readonly envId: string;
  readonly run: number;
  readonly clock: () => Instant;
  readonly alertRules?: readonly AlertRule[] | undefined;
  /** Every commit fails once another process has taken the environment. Null where none can. */
  readonly lease: WriterLease | null;
  errorOf(error: unknown): unknown;
}

type ReadUse = Extract<TransactionUse, 'read' | 'read-and-note'>;

export function createPostgresDestination(database: PostgresDatabase, options: PostgresOptions): Destination {
  const { envId, run, lease, alertRules } = options;
  const withErrors = <Done>(work: Promise<Done>): Promise<Done> =>
    translateErrors(work, (error) => (error instanceof SyncError ? error : options.errorOf(error)));
  /** Repeats a transaction that only reads, or whose writes may be lost. */
  const read = <Result>(statementsOf: () => SqlStatements<Result>, use: ReadUse = 'read'): Promise<Result> =>
    withErrors(withRetry(options, () => database.transaction((inside) => performOn(inside, statementsOf()), use)));
  /** Makes a port's method from its statements. */
  const asking =
    <Given extends unknown[], Result>(statementsOf: (scope: MirrorScope, ...given: Given) => SqlStatements<Result>) =>
    (...given: Given): Promise<Result> =>
      read(() => statementsOf(postgresScope(envId), ...given));
  const rememberTicks = environmentClock(options);
  const writing =
    <Given extends unknown[], Result>(statementsOf: (clock: MirrorClock, ...given: Given) => SqlStatements<Result>) =>
    (...given: Given): Promise<Result> =>
      withErrors(
        rememberTicks((clockOfAttempt) =>
          writeOnce(database, options, (inside) => performOn(inside, statementsOf(clockOfAttempt(), ...given))),
        ),
      );
  return {
    load: asking(resumePoint),
    facts: asking((scope, stream: Stream, query: FactsQuery) => facts(scope, stream, { ...query, run })),
    existing: asking(existingRows),
    existingWithChildren: asking(existingWithChildren),
    backlog: (stream, query) =>
      read(() => backlogStatements(options, stream, query), dependsOnSeen(stream, query) ? 'read-and-note' : 'read'),
    dueTests: asking(dueTests),
    outstanding: asking(outstandingCounts),
    commit: writing(function* (clock, stream: Stream, commit: Commit, marking: ReadonlySet<StreamName>) {
      const scope = postgresScope(envId);
      const result = yield* commitStatements(scope, stream, { commit, run, clock, marking, alertRules });
      yield* writeNoted(scope.noted);
      return result;
    }),
    renewDay: writing(function* () {
      yield* lockEnvironment(envId, lease);
      return yield* renewDay(postgresScope(envId));
    }),
    pruneHistory: writing((clock, rule: PruningRule) => pruneHistory(postgresScope(envId), rule, clock)),
  };
}

function* backlogStatements(
  { envId, lease }: PostgresOptions,
  stream: Stream,
  query: BacklogQuery,
): SqlStatements<Backlog> {
  // It records what is missing, so only the writer may do it (R26).
  if (dependsOnSeen(stream, query)) yield* lockEnvironment(envId, lease);
  return yield* backlog(postgresScope(envId), stream, query);
}

/**
 * The clock of an environment. It remembers the last acknowledged commit: a run that continued from its own checkpoint
 * after the server had lost it would leave a gap that no later run fills. It does not see a loss if another process has
 * moved the clock since, nor that of the last commits of a run, which the next run reads again.
 */
function environmentClock({ envId, lease, clock: now }: PostgresOptions) {
  let acknowledged: Instant = '';
  function* last(): StateStatements<Instant> {
    const at = yield* lockEnvironment(envId, lease);
    if (at < acknowledged) throw lostCommits(envId);
    return at;
  }
  return async <Done>(transact: (clockOfAttempt: () => MirrorClock) => Promise<Done>): Promise<Done> => {
    let at: Instant = '';
    const ticked = (time: Instant): void => {
      at = time;
    };
    const done = await transact(() => {
      at = '';
      return { now, last, moved: () => [], ticked };
    });
    if (at > acknowledged) acknowledged = at;
    return done;
  };
}

/** Recorded keys are written at the end of their transaction, so each transaction has its own. */
export function postgresScope(envId: string): MirrorScope {
  return { envId, dialect: POSTGRES, noted: { pages: [] } };
}
