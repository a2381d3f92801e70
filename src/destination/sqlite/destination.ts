import { loadCheckpoint, loadCheckpoints, saveCheckpoint } from '../../../state/checkpoint-store.ts';
import { tick } from '../../../state/mirror-clock.ts';
import type { Counts, Destination, Facts } from '../../core/destination.ts';
import type { Instant } from '../../core/instant.ts';
import type { Stream } from '../../core/stream.ts';
import { apply } from './commit.ts';
import { fileError } from './file-error.ts';
import { heldBack } from './hold.ts';
import {
  countMarks,
  countRejected,
  dueTests,
  hasKeyless,
  hasRejected,
  hasRows,
  held,
  lastMark,
  owed,
} from './lookups.ts';
import type { MirrorFile } from './open.ts';
import { type Part, partOf } from './part.ts';
import { weigh } from './settle.ts';

/** Whose part of the mirror is written, in which run, by which clock. */
interface Whose {
  readonly envId: string;
  readonly run: number;
  readonly clock: () => Instant;
}

/** One environment's part of an SQLite mirror. */
export function createDestination(mirror: MirrorFile, whose: Whose): Destination {
  const part = partOf(mirror, whose.envId);
  const facing = facingFile(mirror.path);
  return {
    load: facing((stream) => loadCheckpoint(mirror.db, part.envId, stream)),
    facts: facing((stream, since) => facts(mirror, part, { stream, since, run: whose.run })),
    held: facing((stream, keys) => held(part, stream, keys)),
    owed: facing((stream, query) => owed(part, stream, query)),
    dueTests: facing((_stream, most) => dueTests(part, whose.run, most)),
    heldBack: facing((stream) => heldBack(part, stream)),
    rejected: facing((stream) => countRejected(part, stream)),
    weigh: facing((stream, settlement) => weigh(part, stream, settlement)),
    commit: facing(committing(mirror, part, whose)),
  };
}

function facts(
  mirror: MirrorFile,
  part: Part,
  { stream, ...about }: { stream: Stream; since: Instant | null; run: number },
): Facts {
  return {
    hasRows: hasRows(part, stream),
    marks: countMarks(part, stream, about),
    hasRejected: hasRejected(part, stream),
    hasKeyless: hasKeyless(part, stream),
    lastMark: lastMark(part),
    checkpoints: loadCheckpoints(mirror.db, part.envId),
  };
}

/** All of a commit in one transaction (R5), in which nothing is awaited. */
function committing(
  { transactions, db }: MirrorFile,
  part: Part,
  { run, clock }: Whose,
): (...given: Parameters<Destination['commit']>) => Counts {
  return (stream, commit, marking) =>
    transactions.write(() => {
      const mirroredAt = tick(db, clock);
      saveCheckpoint(db, part.envId, stream.name, commit.checkpoint);
      return apply({ ...part, run, marking, mirroredAt }, stream, commit);
    }).counts;
}

/** Says of every failure what is wrong with the file and what to do about it. */
export function facingFile(path: string) {
  return <Given extends unknown[], Found>(look: (...given: Given) => Found) =>
    async (...given: Given): Promise<Found> => {
      try {
        return look(...given);
      } catch (error) {
        throw fileError(path, error);
      }
    };
}
