import { type DecodedPage, decodePage, joinKey } from '../core/decode.ts';
import { differenceOf, type HeldRow, isLive } from '../core/difference.ts';
import { isPending } from '../core/pending.ts';
import type { Page } from '../core/source.ts';
import { progressOf } from './verify-again.ts';
import { readPages, type Sight } from './verify-sight.ts';
import { add, bookmark, noSuspects, rejectedSuspect, room, type Suspects, suspectOf } from './verify-suspects.ts';

/** What a whole read of one stream has shown so far. */
export interface Compared {
  rows: number;
  readonly suspects: Suspects;
  /** Rows whose own times say that they changed since the last sync. */
  readonly pending: Suspects;
}

export function nothingCompared(): Compared {
  return { rows: 0, suspects: noSuspects(), pending: noSuspects() };
}

/**
 * Reads every list of the stream and compares each row shown with the one held; what is then held and was not shown is
 * extra. Tells of all it finds in `compared`, so that a read that is cut off leaves what it has found.
 */
export async function compareStream(sight: Sight, compared: Compared): Promise<void> {
  const { stream, holding } = sight;
  holding.forget(stream);
  for (const variant of stream.variants) {
    const rows = compared.rows;
    const takeBack = [bookmark(compared.suspects), bookmark(compared.pending)];
    await readPages(sight, variant, {
      // What the read said before it had to start anew does not count twice.
      begin: () => {
        compared.rows = rows;
        for (const each of takeBack) each();
      },
      page: (page) => comparePage(sight, page, compared),
    });
  }
  // Which rows of a kind there are, the stream that leads it decides.
  if (stream.within === undefined) addExtras(sight, compared);
  holding.forget(stream);
}

function comparePage(sight: Sight, page: Page, compared: Compared): void {
  const { stream, holding, depth } = sight;
  const decoded = decodePage(stream, page.items);
  const keys = keysOf(decoded);
  const held = holding.held(stream, keys);
  compared.rows += decoded.rows.length;
  if (stream.within === undefined) holding.see(stream, keys);
  for (const shown of decoded.rows) {
    const row = held.get(joinKey(shown.key));
    const difference = differenceOf(stream, row, shown, depth);
    if (difference === null) continue;
    const pending = isPending(stream, { difference, held: row, shown, tombstoneAt: null }, progressOf(sight));
    add(pending ? compared.pending : compared.suspects, suspectOf(shown.key, difference));
  }
  for (const rejected of decoded.rejected)
    add(compared.suspects, rejectedSuspect(rejected, isHeldLive(rejected.key, held)));
}

function keysOf({ rows, rejected }: DecodedPage): (readonly string[])[] {
  return [...rows.map((row) => row.key), ...rejected.flatMap((row) => (row.key === null ? [] : [row.key]))];
}

function isHeldLive(key: readonly string[] | null, held: ReadonlyMap<string, HeldRow>): boolean {
  const found = key === null ? undefined : held.get(joinKey(key));
  return found !== undefined && isLive(found.row);
}

function addExtras({ stream, holding }: Sight, { suspects }: Compared): void {
  const { keys, total } = holding.unseen(stream, room(suspects));
  for (const key of keys) add(suspects, suspectOf(key, { what: 'extra', fields: [] }));
  suspects.beyond.extra += total - keys.length;
}
