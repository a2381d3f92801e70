import { loadCheckpoint, loadCheckpoints, saveCheckpoint } from '../../../state/checkpoint-store.ts';
import { tick } from '../../../state/mirror-clock.ts';
import type { Destination, RoundFacts, RowCounts } from '../../core/destination.ts';
import type { Instant } from '../../core/instant.ts';
import type { Stream } from '../../core/stream.ts';
import { apply } from './commit.ts';
import { facingFile } from './file-error.ts';
import { countRemovals } from './finish-round.ts';
import {
  backlog,
  countMarks,
  countRejected,
  dueTests,
  existingRows,
  hasKeyless,
  hasRejected,
  hasRows,
  heldBack,
  lastMark,
} from './lookups.ts';
import type { MirrorFile } from './open.ts';
import { type MirrorScope, partOf } from './statements.ts';

/** Whose part of the mirror is written, in which run, by which clock. */
interface DestinationOptions {
  readonly envId: string;
  readonly run: number;
  readonly clock: () => Instant;
}

/** One environment's part of an SQLite mirror. */
export function createDestination(mirror: MirrorFile, destinationOptions: DestinationOptions): Destination {
  const part = partOf(mirror, destinationOptions.envId);
  const facing = facingFile(mirror.path);
  return {
    load: facing((stream) => loadCheckpoint(mirror.db, part.envId, stream)),
    facts: facing((stream, since) => facts(mirror, part, { stream, since, run: destinationOptions.run })),
    existing: facing((stream, keys) => existingRows(part, stream, keys)),
    backlog: facing((stream, query) => backlog(part, stream, query)),
    dueTests: facing((_stream, most) => dueTests(part, destinationOptions.run, most)),
    heldRemovals: facing((stream) => heldBack(part, stream)),
    rejected: facing((stream) => countRejected(part, stream)),
    countRemovals: facing((stream, settlement) => countRemovals(part, stream, settlement)),
    commit: facing(committing(mirror, part, destinationOptions)),
  };
}

function facts(
  mirror: MirrorFile,
  mirrorScope: MirrorScope,
  { stream, ...about }: { stream: Stream; since: Instant | null; run: number },
): RoundFacts {
  return {
    hasRows: hasRows(mirrorScope, stream),
    marks: countMarks(mirrorScope, stream, about),
    hasRejected: hasRejected(mirrorScope, stream),
    hasKeyless: hasKeyless(mirrorScope, stream),
    lastMark: lastMark(mirrorScope),
    checkpoints: loadCheckpoints(mirror.db, mirrorScope.envId),
  };
}

/** All of a commit in one transaction (R5), in which nothing is awaited. */
function committing(
  { transactions, db }: MirrorFile,
  mirrorScope: MirrorScope,
  { run, clock }: DestinationOptions,
): (...given: Parameters<Destination['commit']>) => RowCounts {
  return (stream, commit, marking) =>
    transactions.write(() => {
      const mirroredAt = tick(db, clock, [mirrorScope.envId]);
      saveCheckpoint(db, mirrorScope.envId, stream.name, commit.checkpoint);
      return apply({ ...mirrorScope, run, marking, mirroredAt }, stream, commit);
    }).counts;
}
