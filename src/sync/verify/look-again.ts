import { firstChunk } from '../../core/chunk.ts';
import { type Decoded, decodePage, joinKey, type Rejected } from '../../core/decode.ts';
import { differenceOf, type HeldRow, isLive } from '../../core/difference.ts';
import { causeOf } from '../../core/pending.ts';
import { type Compared, heldBackOf, notBrought } from './compare-stream.ts';
import { causesOf, learnAfresh, ownerIds, timesOf } from './explain.ts';
import { readPages, type Sight } from './sight.ts';
import { rejectedSuspect, type Suspect, suspectOf } from './suspects.ts';

/** Suspects that were looked at again; those that are equal by now are in neither list. */
export interface Judged {
  readonly differences: readonly Suspect[];
  readonly pending: readonly Suspect[];
  /** Suspects that nobody looked at again: more than the requests for it allow for. */
  readonly possible: readonly Suspect[];
}

/** Requests in which the suspects of one stream are asked for again. */
const MOST_REQUESTS = 50;

/**
 * Asks for every suspect once more by id: pages shift while they are read, and a sync may go on beside. What still differs, was
 * not changed at the source since the last sync, and is not being written in the mirror, is a difference.
 */
export async function lookAgain(sight: Sight, { suspects }: Pick<Compared, 'suspects'>): Promise<Judged> {
  const { asked, possible } = await askAgain(sight, [...suspects.listed.values()], MOST_REQUESTS);
  if (asked.length > 0) await learnAfresh(sight);
  const cause = await causesOf(
    sight,
    asked.map(({ suspect }) => suspect),
  );
  const isHeldBack = await heldBackOf(
    sight,
    asked.map(({ suspect }) => suspect),
  );
  const held = await sight.holding.held(
    sight.stream,
    asked.flatMap(({ suspect: { key } }) => (key.length === 0 ? [] : [key])),
  );
  const found = asked
    .map(({ suspect, before }) => ({
      suspect: { ...suspect, cause: cause(isHeldBack(suspect) ? notBrought(suspect) : suspect) },
      before,
    }))
    .filter(({ suspect, before }) => suspect.key.length === 0 || before === asText(held.get(joinKey(suspect.key))));
  const parted = Map.groupBy(
    found.map(({ suspect }) => suspect),
    (suspect) => suspect.cause === null,
  );
  return { differences: heldBack(isHeldBack, parted.get(true) ?? []), pending: parted.get(false) ?? [], possible };
}

/** The suspects that differ still, however many requests it takes to ask for them. */
export async function stillDiffering(sight: Sight, suspects: readonly Suspect[]): Promise<ReadonlySet<string>> {
  const { asked } = await askAgain(sight, suspects, Number.POSITIVE_INFINITY);
  // What the source has changed meanwhile was mended before it did.
  const changed = new Set(suspects.filter(({ cause }) => cause === 'changed').map(({ key }) => joinKey(key)));
  return new Set(
    asked
      .filter(({ suspect: { cause, key } }) => cause !== 'changed' || changed.has(joinKey(key)))
      .map(({ suspect }) => joinKey(suspect.key)),
  );
}

/** A suspect that differs still, and the mirror's row as it was before the source was asked. */
interface Asked {
  readonly suspect: Suspect;
  readonly before: string;
}

/** It ends: each turn asks for one chunk of the suspects. */
async function askAgain(
  sight: Sight,
  suspects: readonly Suspect[],
  mostRequests: number,
): Promise<{ asked: Asked[]; possible: Suspect[] }> {
  // What has no key can be asked for by none.
  const asked: Asked[] = suspects.flatMap((suspect) => (suspect.key.length > 0 ? [] : [{ suspect, before: '' }]));
  const waiting = Map.groupBy(suspects, ({ key }) => key[0] ?? '');
  let ids = [...waiting.keys()].filter((id) => id !== '').sort();
  let left = mostRequests;
  const counting: Sight = {
    ...sight,
    onRequest() {
      left -= 1;
      sight.onRequest();
    },
  };
  const { idsParameter = 'ids', variants } = sight.stream;
  while (ids.length > 0 && left >= variants.length) {
    const chunk = firstChunk(idsParameter, ids).slice(0, sight.context().options.pageSize);
    ids = ids.slice(chunk.length);
    const differing = await askOnce(
      counting,
      chunk,
      chunk.flatMap((id) => waiting.get(id) ?? []),
    );
    asked.push(...differing);
  }
  return { asked, possible: ids.flatMap((id) => waiting.get(id) ?? []) };
}

async function askOnce(sight: Sight, ids: readonly string[], suspects: readonly Suspect[]): Promise<Asked[]> {
  const { stream, holding } = sight;
  const before = await holding.held(
    stream,
    suspects.map(({ key }) => key),
  );
  const { rows, rejected } = await ask(sight, ids);
  return suspects.flatMap(({ key }) => {
    const joined = joinKey(key);
    const held = before.get(joined);
    const refused = rejected.get(joined);
    const suspect = refused === undefined ? judge(sight, key, { held, shown: rows.get(joined) }) : null;
    if (refused !== undefined)
      return [{ suspect: rejectedSuspect(refused, held !== undefined && isLive(held.row)), before: asText(held) }];
    return suspect === null ? [] : [{ suspect, before: asText(held) }];
  });
}

interface Sides {
  readonly held: HeldRow | undefined;
  readonly shown: Decoded | undefined;
}

/** Null when both sides are equal by now. */
function judge(sight: Sight, key: Suspect['key'], { held, shown }: Sides): Suspect | null {
  const { stream, depth } = sight;
  const isExtra = held !== undefined && isLive(held.row) && stream.within === undefined;
  const extra = isExtra ? ({ what: 'extra', fields: [] } as const) : null;
  const difference = shown === undefined ? extra : differenceOf(stream, held, shown, depth);
  if (difference === null) return null;
  const cause = causeOf(stream, { held, shown }, timesOf(sight));
  return suspectOf(key, difference, { cause, owners: ownerIds(sight, shown?.row ?? held?.row) });
}

interface Shown {
  readonly rows: Map<string, Decoded>;
  readonly rejected: Map<string, Rejected>;
}

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
          const { rows, rejected } = decodePage(stream, items, sight.context());
          for (const row of rows) if (row.deletedAt === null) shown.rows.set(joinKey(row.key), row);
          for (const row of rejected) if (row.key !== null) shown.rejected.set(joinKey(row.key), row);
        },
      },
    );
  }
  return shown;
}

function asText(held: HeldRow | undefined): string {
  return JSON.stringify(held ?? null);
}

function heldBack(isHeldBack: (suspect: Suspect) => boolean, suspects: readonly Suspect[]): Suspect[] {
  return suspects.map((suspect) =>
    isHeldBack(suspect)
      ? { ...suspect, why: 'held back: `obsync sync --allow-shrink` lets it go', heldBack: true }
      : suspect,
  );
}
