import { joinKey } from '../core/decode.ts';
import { isLive } from '../core/difference.ts';
import { ownerIds, ownersOf, type StreamContext } from './contexts.ts';
import type { Mismatch } from './mismatch.ts';

/** Gives each mismatch its verdict, as far as the feeds and the mirror's own marks explain it. */
export async function explain(streamContext: StreamContext, mismatches: readonly Mismatch[]): Promise<Mismatch[]> {
  const { stream, reader } = streamContext;
  const extra = mismatches.flatMap(({ what, key }) => (what === 'extra' ? [key] : []));
  const heldBack = await reader.heldRemovals(stream.name, extra);
  const ids = [...new Set(mismatches.flatMap(({ key, owners }) => [...key.slice(0, 1), ...owners]))];
  const isFeed = stream.method === 'feed';
  const changed = isFeed ? await reader.pendingIds('changed', stream.name, ids) : NONE;
  const facts = await ownerFactsOf(streamContext, ids);
  return mismatches.map((mismatch) => {
    const isHeldBack = mismatch.what === 'extra' && heldBack.has(joinKey(mismatch.key));
    const known = isHeldBack ? { ...mismatch, ...HELD_BACK, verdict: keptVerdict(mismatch) } : mismatch;
    if (known.verdict !== 'possible' || known.why !== null) return known;
    if (changed.has(known.key[0] ?? '')) return { ...known, verdict: 'changed' };
    const isBrought = known.owners.some((owner) => isReadAgain(streamContext, known, { owner, facts }));
    return isBrought ? { ...known, verdict: 'ambiguous' } : known;
  });
}

const NONE: ReadonlySet<string> = new Set();

const HELD_BACK = { heldBack: true } as const;

/** Reading the whole list again does not apply a removal that is held back (R14). */
function keptVerdict({ verdict }: Mismatch): Mismatch['verdict'] {
  return verdict === 'ambiguous' ? 'possible' : verdict;
}

/** What is known of the rows that own others, each set by their ids. */
interface OwnerFacts {
  /** The next sync asks for their rows (R13, R18, R22). */
  readonly marked: ReadonlySet<string>;
  readonly live: ReadonlySet<string>;
  readonly deleted: ReadonlySet<string>;
  /** The next sync changes them. */
  readonly changed: ReadonlySet<string>;
  /** The next sync asks for them. */
  readonly asked: ReadonlySet<string>;
  /** They go along with an owner of their own, or have changed since the snapshot was read. */
  readonly followed: ReadonlySet<string>;
}

async function ownerFactsOf(streamContext: StreamContext, ids: readonly string[]): Promise<OwnerFacts> {
  const { stream, reader, checkpoints, catalogue } = streamContext;
  const watermark = stream.method === 'snapshot' ? checkpoints.get(stream.name)?.watermark : null;
  const facts = {
    marked: await reader.marked(stream.name, ids),
    live: new Set<string>(),
    deleted: new Set<string>(),
    changed: new Set<string>(),
    asked: new Set<string>(),
    followed: new Set<string>(),
  };
  for (const owner of new Set(ownersOf(streamContext).map((each) => each.stream))) {
    for (const what of ['deleted', 'changed', 'asked'] as const)
      for (const id of await reader.pendingIds(what, owner.name, ids)) facts[what].add(id);
    const existing = await reader.existing(
      owner,
      ids.map((id) => [id]),
    );
    const rows = [...existing].map(([id, { row }]) => ({
      id,
      row,
      above: ownerIds({ catalogue, stream: owner }, row),
    }));
    const marked = await reader.marked(owner.name, [...new Set(rows.flatMap(({ above }) => above))]);
    for (const { id, row, above } of rows) {
      if (isLive(row)) facts.live.add(id);
      const isLater = [row['synced_at'], row['deleted_at']].some((at) => watermark && String(at ?? '') >= watermark);
      if (isLater || above.some((each) => marked.has(each))) facts.followed.add(id);
    }
  }
  return facts;
}

/** Whether the next sync reads the rows of an owner again. A missing row comes back only with an owner that lives. */
function isReadAgain(
  { stream }: StreamContext,
  { what }: Mismatch,
  { owner, facts }: { owner: string; facts: OwnerFacts },
): boolean {
  const isTouched = facts.changed.has(owner) || facts.asked.has(owner);
  // The rows of a feed are asked for when their owner was deleted or came back, not when it changed (R13).
  if (stream.method === 'feed') {
    const isLiving = (facts.live.has(owner) || facts.changed.has(owner)) && !facts.deleted.has(owner);
    return facts.marked.has(owner) && (what !== 'missing' || isLiving);
  }
  // A column that stays is asked for together with its asset, its edges are not.
  const isUnmoved = what === 'missing' && stream.method === 'marked' && facts.live.has(owner);
  return facts.marked.has(owner) || isTouched || (facts.followed.has(owner) && !isUnmoved);
}
