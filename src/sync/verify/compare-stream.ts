import { type DecodedPage, joinKey } from '../../core/decode.ts';
import { decodeSlices } from '../../core/decode-slices.ts';
import { differenceOf, type HeldRow, isLive } from '../../core/difference.ts';
import type { Key, Keys } from '../../core/holding.ts';
import { causeOf } from '../../core/pending.ts';
import type { Page } from '../../core/source.ts';
import { causesOf, learn, ownerIds, timesOf } from './explain.ts';
import { readPages, type Sight } from './sight.ts';
import { add, noSuspects, rejectedSuspect, type Suspect, type Suspects, suspectOf } from './suspects.ts';

/** What a whole read of one stream has shown so far. */
export interface Compared {
  rows: number;
  /** Suspects that nobody has asked the feeds about. */
  fresh: Suspect[];
  /** Those that nothing explains. */
  readonly suspects: Suspects;
  /** Those that the next sync brings. */
  readonly pending: Suspects;
}

export function nothingCompared(): Compared {
  return { rows: 0, fresh: [], suspects: noSuspects(), pending: noSuspects() };
}

/**
 * Reads every list of the stream and compares each row shown with the one held; what is then held and was not shown is
 * extra. Tells of all it finds in `compared`, so that a read that is cut off leaves what it has found.
 */
export async function compareStream(sight: Sight, compared: Compared): Promise<void> {
  const { stream, holding } = sight;
  await holding.forget(stream);
  for (const variant of stream.variants) {
    const rows = compared.rows;
    const beyond = { ...compared.suspects.beyond };
    await readPages(sight, variant, {
      // What the read said before it had to start anew does not count twice.
      begin: () => {
        compared.rows = rows;
        Object.assign(compared.suspects.beyond, beyond);
      },
      async page(page) {
        await comparePage(sight, page, compared);
        if (compared.fresh.length >= MANY) await sift(sight, compared);
      },
    });
  }
  // Which rows of a kind there are, the stream that leads it decides.
  if (stream.within === undefined) await addExtras(sight, compared);
  await holding.forget(stream);
  await sift(sight, compared);
}

/** Rows looked up, and suspects explained, at once. */
const MANY = 5000;

async function comparePage(sight: Sight, page: Page, compared: Compared): Promise<void> {
  for (const decoded of decodeSlices(sight.stream, page.items, sight.context()))
    await compareSlice(sight, decoded, compared);
}

async function compareSlice(sight: Sight, decoded: DecodedPage, compared: Compared): Promise<void> {
  const { stream, holding, depth } = sight;
  const keys = keysOf(decoded);
  const held = await holding.held(stream, keys);
  const times = timesOf(sight);
  compared.rows += decoded.rows.length;
  if (stream.within === undefined) await holding.see(stream, keys);
  for (const shown of decoded.rows) {
    const row = held.get(joinKey(shown.key));
    const difference = differenceOf(stream, row, shown, depth);
    if (difference === null) continue;
    const cause = causeOf(stream, { held: row, shown }, times);
    compared.fresh.push(suspectOf(shown.key, difference, { cause, owners: ownerIds(sight, shown.row) }));
  }
  compared.fresh.push(...decoded.rejected.map((each) => rejectedSuspect(each, isHeldLive(each.key, held))));
}

export function keysOf({ rows, rejected }: DecodedPage): Key[] {
  return [...rows.map((row) => row.key), ...rejected.flatMap((row) => (row.key === null ? [] : [row.key]))];
}

export function isHeldLive(key: Key | null, held: ReadonlyMap<string, HeldRow>): boolean {
  const found = key === null ? undefined : held.get(joinKey(key));
  return found !== undefined && isLive(found.row);
}

/** Rows held and not shown. It ends: each turn begins after the last key of the one before. */
export async function addExtras(
  sight: Sight,
  compared: Compared,
  within?: Parameters<Sight['holding']['unseen']>[2],
): Promise<void> {
  const { stream, holding } = sight;
  const times = timesOf(sight);
  for (let after: Key | null = null; ; ) {
    const keys: Keys = await holding.unseen(stream, { after, limit: MANY }, within);
    const held = await holding.held(stream, keys);
    for (const key of keys) {
      const row = held.get(joinKey(key));
      const cause = causeOf(stream, { held: row, shown: undefined }, times);
      const owners = ownerIds(sight, row?.row);
      compared.fresh.push(suspectOf(key, { what: 'extra', fields: [] }, { cause, owners }));
    }
    if (keys.length < MANY) return;
    await sift(sight, compared);
    after = keys.at(-1) as Key;
  }
}

/** Tells of the suspects whose removal is held back (R14). */
export async function heldBackOf(
  { stream, holding }: Sight,
  suspects: readonly Suspect[],
): Promise<(suspect: Suspect) => boolean> {
  const extra = suspects.flatMap(({ what, key }) => (what === 'extra' ? [key] : []));
  const held = await holding.heldBack(stream.name, extra);
  return ({ what, key }) => what === 'extra' && held.has(joinKey(key));
}

/** No reading of the whole lets go what is held back (R14). */
export function notBrought(suspect: Suspect): Suspect {
  return suspect.cause === 'untold' ? { ...suspect, cause: null } : suspect;
}

/** Parts what the next sync brings from what nothing explains. */
export async function sift(sight: Sight, compared: Compared): Promise<void> {
  if (compared.fresh.some(({ cause, why }) => cause === null && why === null)) await learn(sight);
  const cause = await causesOf(sight, compared.fresh);
  const isHeldBack = await heldBackOf(sight, compared.fresh);
  for (const suspect of compared.fresh) {
    const explained = { ...suspect, cause: cause(isHeldBack(suspect) ? notBrought(suspect) : suspect) };
    add(explained.cause === null ? compared.suspects : compared.pending, explained);
  }
  const asked = compared.fresh.filter((each) => sight.stream.method === 'feed' && cause(each) === 'untold');
  if (asked.length > 0)
    await sight.holding.expect(
      'asked',
      sight.stream.name,
      asked.map(({ key }) => key[0] ?? ''),
    );
  compared.fresh = [];
}
