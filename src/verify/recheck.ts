import { firstChunk } from '../core/chunk.ts';
import { type DecodedRow, decodePage, joinKey, type RejectedRow } from '../core/decode.ts';
import { differenceOf, type ExistingRow, isLive } from '../core/difference.ts';
import { causeOf } from '../core/pending.ts';
import { heldBackOf, notBrought, type StreamComparison } from './compare-stream.ts';
import { readPages, type StreamContext } from './contexts.ts';
import { type Mismatch, mismatchOf, rejectedMismatch } from './mismatches.ts';
import { causesOf, ownerIds, rereadChanges, timesOf } from './read-changes.ts';

/** Suspects that were looked at again; those that are equal by now are in neither list. */
export interface RecheckedMismatches {
  readonly differences: readonly Mismatch[];
  readonly pending: readonly Mismatch[];
  /** Suspects that nobody looked at again: more than the requests for it allow for. */
  readonly possible: readonly Mismatch[];
}

/** Requests in which the suspects of one stream are asked for again. */
const MOST_REQUESTS = 50;

/**
 * Asks for every suspect once more by id: pages shift while they are read, and a sync may go on beside. What still differs, was
 * not changed at the source since the last sync, and is not being written in the mirror, is a difference.
 */
export async function recheck(
  streamContext: StreamContext,
  { suspects }: Pick<StreamComparison, 'suspects'>,
): Promise<RecheckedMismatches> {
  const { asked, possible } = await askAgain(streamContext, [...suspects.listed.values()], MOST_REQUESTS);
  if (asked.length > 0) await rereadChanges(streamContext);
  const cause = await causesOf(
    streamContext,
    asked.map(({ suspect }) => suspect),
  );
  const isHeldBack = await heldBackOf(
    streamContext,
    asked.map(({ suspect }) => suspect),
  );
  const held = await streamContext.holding.existing(
    streamContext.stream,
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
export async function stillDiffering(
  streamContext: StreamContext,
  suspects: readonly Mismatch[],
): Promise<ReadonlySet<string>> {
  const { asked } = await askAgain(streamContext, suspects, Number.POSITIVE_INFINITY);
  // What the source has changed meanwhile was mended before it did.
  const changed = new Set(suspects.filter(({ cause }) => cause === 'changed').map(({ key }) => joinKey(key)));
  return new Set(
    asked
      .filter(({ suspect: { cause, key } }) => cause !== 'changed' || changed.has(joinKey(key)))
      .map(({ suspect }) => joinKey(suspect.key)),
  );
}

/** A suspect that differs still, and the mirror's row as it was before the source was asked. */
interface RecheckedRow {
  readonly suspect: Mismatch;
  readonly before: string;
}

/** It ends: each turn asks for one chunk of the suspects. */
async function askAgain(
  streamContext: StreamContext,
  suspects: readonly Mismatch[],
  mostRequests: number,
): Promise<{ asked: RecheckedRow[]; possible: Mismatch[] }> {
  // What has no key can be asked for by none.
  const asked: RecheckedRow[] = suspects.flatMap((suspect) =>
    suspect.key.length > 0 ? [] : [{ suspect, before: '' }],
  );
  const waiting = Map.groupBy(suspects, ({ key }) => key[0] ?? '');
  let ids = [...waiting.keys()].filter((id) => id !== '').sort();
  let left = mostRequests;
  const counting: StreamContext = {
    ...streamContext,
    onRequest() {
      left -= 1;
      streamContext.onRequest();
    },
  };
  const { idsParameter, scanQueries } = streamContext.stream;
  while (ids.length > 0 && left >= scanQueries.length) {
    const chunk = firstChunk(idsParameter, ids).slice(0, streamContext.context().options.pageSize);
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

async function askOnce(
  streamContext: StreamContext,
  ids: readonly string[],
  suspects: readonly Mismatch[],
): Promise<RecheckedRow[]> {
  const { stream, holding } = streamContext;
  const before = await holding.existing(
    stream,
    suspects.map(({ key }) => key),
  );
  const { rows, rejected } = await ask(streamContext, ids);
  return suspects.flatMap(({ key }) => {
    const joined = joinKey(key);
    const held = before.get(joined);
    const refused = rejected.get(joined);
    const suspect = refused === undefined ? judge(streamContext, key, { held, shown: rows.get(joined) }) : null;
    if (refused !== undefined)
      return [{ suspect: rejectedMismatch(refused, held !== undefined && isLive(held.row)), before: asText(held) }];
    return suspect === null ? [] : [{ suspect, before: asText(held) }];
  });
}

interface RecheckedPair {
  readonly held: ExistingRow | undefined;
  readonly shown: DecodedRow | undefined;
}

/** Null when both sides are equal by now. */
function judge(
  streamContext: StreamContext,
  key: Mismatch['key'],
  { held: existing, shown }: RecheckedPair,
): Mismatch | null {
  const { stream, depth } = streamContext;
  const isExtra = existing !== undefined && isLive(existing.row) && stream.subtype === undefined;
  const extra = isExtra ? ({ what: 'extra', fields: [] } as const) : null;
  const difference = shown === undefined ? extra : differenceOf(stream, existing, shown, depth);
  if (difference === null) return null;
  const cause = causeOf(stream, { existing, shown }, timesOf(streamContext));
  return mismatchOf(key, difference, { cause, owners: ownerIds(streamContext, shown?.row ?? existing?.row) });
}

interface ShownRows {
  readonly rows: Map<string, DecodedRow>;
  readonly rejected: Map<string, RejectedRow>;
}

/** What the source shows of these ids, in all its lists (R12). */
async function ask(streamContext: StreamContext, ids: readonly string[]): Promise<ShownRows> {
  const { stream } = streamContext;
  const shownRows: ShownRows = { rows: new Map(), rejected: new Map() };
  for (const variant of stream.scanQueries) {
    await readPages(
      streamContext,
      { ...variant, [stream.idsParameter]: ids },
      {
        page: ({ items }) => {
          const { rows, rejected } = decodePage(stream, items, streamContext.context());
          for (const row of rows) if (row.deletedAt === null) shownRows.rows.set(joinKey(row.key), row);
          for (const row of rejected) if (row.key !== null) shownRows.rejected.set(joinKey(row.key), row);
        },
      },
    );
  }
  return shownRows;
}

function asText(held: ExistingRow | undefined): string {
  return JSON.stringify(held ?? null);
}

function heldBack(isHeldBack: (mismatch: Mismatch) => boolean, suspects: readonly Mismatch[]): Mismatch[] {
  return suspects.map((suspect) =>
    isHeldBack(suspect)
      ? { ...suspect, why: 'held back: `obsync sync --allow-shrink` lets it go', heldBack: true }
      : suspect,
  );
}
