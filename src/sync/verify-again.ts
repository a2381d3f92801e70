import { boundOf } from '../core/begin.ts';
import { firstChunk } from '../core/chunk.ts';
import { isOutOfLookback } from '../core/context.ts';
import { type Decoded, decodePage, joinKey } from '../core/decode.ts';
import { differenceOf, type HeldRow, isLive } from '../core/difference.ts';
import type { Instant } from '../core/instant.ts';
import { type Evidence, isMendedBySync, isPending, type Progress } from '../core/pending.ts';
import type { Row, Stream, Value } from '../core/stream.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import { readPages, type Sight } from './verify-sight.ts';
import { rejectedSuspect, type Shown, type Suspect, suspectOf } from './verify-suspects.ts';

/** Suspects that were looked at again; those that are equal by now are in neither list. */
export interface Judged {
  readonly differences: Suspect[];
  readonly pending: Suspect[];
  /** Suspects that nobody looked at again: more than the requests for it allow for. */
  readonly left: readonly Suspect[];
}

/** Requests that may still be sent to look again. */
export interface Allowance {
  requests: number;
}

/**
 * Asks for every suspect once more by id, and reads the mirror's row afresh: pages shift while they are read, and a sync may go
 * on beside. What still differs and was not changed at the source since the last sync is a difference.
 * It ends: each turn asks for one chunk of the suspects, and the owners that are asked for in turn have ever fewer owners.
 */
export async function lookAgain(sight: Sight, suspects: readonly Suspect[], allowance: Allowance): Promise<Judged> {
  // What has no key can be asked for by none.
  const nameless = suspects.filter(({ key }) => key.length === 0);
  // Pages that shift show a row twice.
  const named = new Map(suspects.filter(({ key }) => key.length > 0).map((suspect) => [joinKey(suspect.key), suspect]));
  const waiting = Map.groupBy(named.values(), ({ key }) => key[0] as string);
  const judged: Judged = { differences: [...nameless], pending: [], left: [] };
  let ids = [...waiting.keys()].sort();
  while (ids.length > 0 && allowance.requests >= sight.stream.variants.length) {
    const chunk = firstChunk(sight.stream.idsParameter ?? 'ids', ids);
    ids = ids.slice(chunk.length);
    allowance.requests -= sight.stream.variants.length;
    const asked = chunk.flatMap((id) => waiting.get(id) ?? []);
    const { differences, pending } = await askAgain(sight, chunk, asked);
    judged.differences.push(...differences);
    judged.pending.push(...pending);
  }
  const explained = await explain(sight, judged, allowance);
  return { ...explained, left: ids.flatMap((id) => waiting.get(id) ?? []) };
}

/** By what a stream's progress is judged: a typed stream's rows change with those of the stream that leads it. */
export function progressOf({ stream, holding, context }: Sight): Progress {
  const leader = stream.within === undefined ? stream.name : (stream.after[0] ?? stream.name);
  return { checkpoint: holding.load(leader), context: context() };
}

async function askAgain(
  sight: Sight,
  ids: readonly string[],
  suspects: readonly Suspect[],
): Promise<Omit<Judged, 'left'>> {
  const { stream, holding } = sight;
  const keys = suspects.map(({ key }) => key);
  const progress = progressOf(sight);
  const before = holding.held(stream, keys);
  const shown = await ask(sight, ids);
  const after = holding.held(stream, keys);
  const differences: Suspect[] = [];
  const pending: Suspect[] = [];
  for (const { key } of suspects) {
    const joined = joinKey(key);
    const rejected = shown.rejected.get(joined);
    const held = after.get(joined);
    if (rejected !== undefined) {
      differences.push(rejectedSuspect(rejected, held !== undefined && isLive(held.row)));
      continue;
    }
    const sides = { shown: shown.rows.get(joined), before: before.get(joined), held };
    const verdict = judge(sight, key, { ...sides, progress });
    if (verdict !== null) (verdict.pending ? pending : differences).push(verdict.suspect);
  }
  return { differences, pending };
}

interface Sides {
  readonly shown: Decoded | undefined;
  /** As the mirror held the row before the source was asked, and afterwards. */
  readonly before: HeldRow | undefined;
  readonly held: HeldRow | undefined;
  readonly progress: Progress;
}

/** Null when both sides are equal by now: the mirror's row may be written while the source answers. */
function judge(
  { stream, depth }: Sight,
  key: readonly string[],
  { shown, before, held, progress }: Sides,
): { suspect: Suspect; pending: boolean } | null {
  const apart = (row: HeldRow | undefined): ReturnType<typeof differenceOf> => {
    if (shown !== undefined) return differenceOf(stream, row, shown, depth);
    return row !== undefined && isLive(row.row) && stream.within === undefined ? { what: 'extra', fields: [] } : null;
  };
  const difference = apart(held);
  if (difference === null || apart(before) === null) return null;
  const evidence: Evidence = { difference, held, shown, tombstoneAt: null };
  const row = shown?.row ?? held?.row;
  const why = isMendedBySync(stream, evidence, progress) ? MENDED_BY_SYNC : stream.hourly ? MENDED_HOURLY : null;
  const suspect = { ...suspectOf(key, difference, why), ...(row === undefined ? {} : { row }) };
  return { suspect, pending: isPending(stream, evidence, progress) };
}

const MENDED_BY_SYNC = 'the next sync mends it';
const MENDED_HOURLY = 'a sync in a later hour mends it';

/** What the source shows of these ids, in all its lists (R12). */
async function ask(sight: Sight, ids: readonly string[]): Promise<Shown> {
  const { stream } = sight;
  const shown: Shown = { rows: new Map(), rejected: new Map() };
  for (const variant of stream.variants) {
    await readPages(
      sight,
      { ...variant, [stream.idsParameter ?? 'ids']: ids },
      {
        page: ({ items }) => {
          const { rows, rejected } = decodePage(stream, items);
          for (const row of rows) if (row.deletedAt === null) shown.rows.set(joinKey(row.key), row);
          for (const row of rejected) if (row.key !== null) shown.rejected.set(joinKey(row.key), row);
        },
      },
    );
  }
  return shown;
}

/** Parts what the next sync brings from what it does not, by all that the source and the mirror say beyond the rows. */
async function explain(sight: Sight, judged: Judged, allowance: Allowance): Promise<Omit<Judged, 'left'>> {
  const tombstones = await tombstonesOf(sight, judged.differences);
  const owed = owedIds(sight, judged.differences);
  const moved = await movedOwners(sight, judged.differences, allowance);
  const isBrought = (suspect: Suspect): boolean => {
    const owners = ownersOf(sight.stream).map(({ by }) => String(suspect.row?.[by]));
    return (
      diedSince(sight, suspect, tombstones.get(suspect.key[0] ?? '') ?? null) ||
      refreshedSince(sight) ||
      [suspect.key[0] ?? '', ...owners].some((id) => owed.has(id)) ||
      owners.some((id) => moved.has(id))
    );
  };
  const brought = Map.groupBy(judged.differences, isBrought);
  const ids = (brought.get(false) ?? []).map(({ key }) => key[0] ?? '');
  const heldBack = sight.holding.heldBack(sight.stream, ids);
  return {
    pending: [...judged.pending, ...(brought.get(true) ?? [])],
    differences: (brought.get(false) ?? []).map((suspect) => {
      const isHeldBack = suspect.what === 'extra' && heldBack.has(suspect.key[0] ?? '');
      return isHeldBack ? { ...suspect, why: HELD_BACK, heldBack: true } : suspect;
    }),
  };
}

const HELD_BACK = 'held back: `obsync sync --allow-shrink` lets it go';

function diedSince(sight: Sight, { what, row }: Suspect, tombstoneAt: Instant | null): boolean {
  if (what !== 'extra' || tombstoneAt === null || row === undefined) return false;
  const evidence: Evidence = {
    difference: { what, fields: [] },
    held: { row, parts: [] },
    shown: undefined,
    tombstoneAt,
  };
  return isPending(sight.stream, evidence, progressOf(sight));
}

/** Edges between assets have no times: all that tells is whether the service has refreshed the environment since. */
function refreshedSince({ stream, refreshedAt, holding }: Sight): boolean {
  const hasTimes = ['synced_at', 'start_time', 'bucket_at'].some((name) => name in stream.fields);
  const { watermark } = holding.load(stream.name);
  return !hasTimes && stream.method === 'snapshot' && watermark !== null && (refreshedAt ?? '') > watermark;
}

/** When the source says that rows went that the mirror holds live; from where the next feed would be read (R2, R3). */
async function tombstonesOf(sight: Sight, suspects: readonly Suspect[]): Promise<ReadonlyMap<string, Instant>> {
  const found = new Map<string, Instant>();
  const extra = new Set(suspects.filter(({ what }) => what === 'extra').map(({ key }) => key[0] as string));
  const since = boundOf(sight.holding.load(sight.stream.name), sight.context());
  if (sight.stream.method !== 'feed' || extra.size === 0 || since === null) return found;
  if (isOutOfLookback(since, sight.context().now)) return found;
  await readPages(
    sight,
    { deleted_since: since },
    {
      page: ({ items }) => {
        for (const { key, deletedAt } of decodePage(sight.stream, items, true).rows)
          if (deletedAt !== null && extra.has(key[0] as string)) found.set(key[0] as string, deletedAt);
      },
    },
  );
  return found;
}

/** Rows, and owners of rows, that the mirror itself has marked: the next sync asks for what is theirs (R13, R18, R22). */
function owedIds({ stream, holding }: Sight, suspects: readonly Suspect[]): ReadonlySet<string> {
  const owners = ownersOf(stream).map(({ by }) => by);
  const ids = suspects.flatMap(({ key, row }) => [key[0] ?? '', ...owners.map((by) => String(row?.[by]))]);
  return holding.marked(stream, [...new Set(ids)]);
}

interface OwnerStream {
  readonly by: string;
  readonly stream: Stream;
}

/** To what the rows of a stream belong. A score belongs to the asset it is of. */
function ownersOf(stream: Stream): OwnerStream[] {
  const own = stream.owners.map(({ by, table }) => ({
    by,
    stream: CATALOGUE.find((entry) => entry.table === table && entry.method === 'feed') as Stream,
  }));
  if (own.length > 0 || stream.method !== 'snapshot') return own;
  const leader = CATALOGUE.find(({ name }) => name === stream.after[0]);
  return leader === undefined ? [] : [{ by: stream.key[0] as string, stream: leader }];
}

/** Owners that came, went or changed since the last sync, which what is theirs follows. */
async function movedOwners(
  sight: Sight,
  suspects: readonly Suspect[],
  allowance: Allowance,
): Promise<ReadonlySet<string>> {
  const moved = new Set<string>();
  for (const [owner, of] of Map.groupBy(ownersOf(sight.stream), (each) => each.stream)) {
    const ids = new Set(suspects.flatMap(({ row }) => of.map(({ by }) => idIn(row, by))).filter((id) => id !== null));
    const asked = [...ids].map((id) => suspectOf([id], { what: 'missing', fields: [] }));
    const { pending } = await lookAgain({ ...sight, stream: owner, depth: 'rows' }, asked, allowance);
    // What is asked for by owner is asked for when the owner came or went, not when it changed (R13).
    const following = pending.filter(({ what }) => sight.stream.method !== 'feed' || what !== 'unequal');
    for (const { key } of following) moved.add(key[0] as string);
    for (const id of changedOwners(sight, owner, [...ids])) moved.add(id);
  }
  return moved;
}

/** Owners that the mirror itself has seen change since a snapshot was last read: not every run reads each (R22). */
function changedOwners({ stream, holding }: Sight, owner: Stream, ids: readonly string[]): string[] {
  const { watermark } = holding.load(stream.name);
  if (stream.method !== 'snapshot' || watermark === null) return [];
  const held = holding.held(
    owner,
    ids.map((id) => [id]),
  );
  const isLater = (at: Value | undefined): boolean => String(at ?? '') >= watermark;
  return ids.filter((id) => isLater(held.get(id)?.row['synced_at']) || isLater(held.get(id)?.row['deleted_at']));
}

function idIn(row: Row | undefined, by: string): string | null {
  const id = row?.[by];
  return typeof id === 'string' ? id : null;
}
