import { isLive } from '../core/decide/difference.ts';
import { joinKey } from '../core/decode/decode.ts';
import { parentIdsOf, parentStreamsOf, type StreamContext } from './contexts.ts';
import type { Mismatch } from './mismatch.ts';

/** Gives each mismatch its verdict, as far as the feeds and the mirror's own marks explain it. */
export async function explain(context: StreamContext, mismatches: readonly Mismatch[]): Promise<Mismatch[]> {
  const { stream, reader } = context;
  const extra = mismatches.flatMap(({ what, key }) => (what === 'extra' ? [key] : []));
  const heldBack = await reader.heldRemovals(stream.name, extra);
  const ids = [...new Set(mismatches.flatMap(({ key, parentIds }) => [...key.slice(0, 1), ...parentIds]))];
  const changed = new Set(stream.method === 'feed' ? await reader.pendingIds('changed', stream.name, ids) : []);
  const facts = await parentFactsOf(context, ids);
  return mismatches.map((mismatch) => {
    const isHeldBack = mismatch.what === 'extra' && heldBack.has(joinKey(mismatch.key));
    // Reading the whole list again does not apply a held-back removal (R14).
    const kept = mismatch.verdict === 'ambiguous' ? 'possible' : mismatch.verdict;
    const known = isHeldBack ? { ...mismatch, heldBack: true as const, verdict: kept } : mismatch;
    if (known.verdict !== 'possible' || known.why !== null) return known;
    if (changed.has(known.key[0] ?? '')) return { ...known, verdict: 'changed' };
    const isBrought = known.parentIds.some((parent) => isReadAgain(context, known, { parent, facts }));
    return isBrought ? { ...known, verdict: 'ambiguous' } : known;
  });
}

type ParentFacts = Awaited<ReturnType<typeof parentFactsOf>>;

/** What is known of the parents, as sets of their ids. */
async function parentFactsOf(context: StreamContext, ids: readonly string[]) {
  const { stream, reader, checkpointOf, catalogue } = context;
  const watermark = stream.method === 'snapshot' ? checkpointOf(stream.name).watermark : null;
  const facts = {
    /** The next sync looks up their rows (R13, R18, R22). */
    marked: await reader.marked(stream.name, ids),
    live: new Set<string>(),
    deleted: new Set<string>(),
    /** The next sync changes them. */
    changed: new Set<string>(),
    /** The next sync looks them up. */
    asked: new Set<string>(),
    /** They follow a parent of their own, or have changed since the snapshot was read. */
    followed: new Set<string>(),
  };
  for (const parent of new Set(parentStreamsOf(context).map((each) => each.stream))) {
    for (const what of ['deleted', 'changed', 'asked'] as const)
      for (const id of await reader.pendingIds(what, parent.name, ids)) facts[what].add(id);
    const parentKeys = ids.map((id) => [id]);
    const existing = await reader.existing(parent, parentKeys);
    const above = new Map(
      [...existing].map(([id, { row }]) => [id, parentIdsOf({ catalogue, stream: parent }, row)] as const),
    );
    const marked = await reader.marked(parent.name, [...new Set([...above.values()].flat())]);
    for (const [id, { row }] of existing) {
      if (isLive(row)) facts.live.add(id);
      const isLater = [row['synced_at'], row['deleted_at']].some((at) => watermark && String(at ?? '') >= watermark);
      if (isLater || above.get(id)?.some((each) => marked.has(each))) facts.followed.add(id);
    }
  }
  return facts;
}

/** Whether the next sync reads the rows of a parent again. A missing row comes back only with a live parent. */
function isReadAgain(
  { stream }: StreamContext,
  { what }: Mismatch,
  { parent, facts }: { parent: string; facts: ParentFacts },
): boolean {
  const isTouched = facts.changed.has(parent) || facts.asked.has(parent);
  // Rows of a feed are looked up if their parent was deleted or came back, not if it changed (R13).
  if (stream.method === 'feed') {
    const isLiving = (facts.live.has(parent) || facts.changed.has(parent)) && !facts.deleted.has(parent);
    return facts.marked.has(parent) && (what !== 'missing' || isLiving);
  }
  // A column that stays is looked up with its asset; its edges are not.
  const isUnmoved = what === 'missing' && stream.method === 'marked' && facts.live.has(parent);
  return facts.marked.has(parent) || isTouched || (facts.followed.has(parent) && !isUnmoved);
}
