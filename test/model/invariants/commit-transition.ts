import { addSeconds } from '../../../src/core/time/instant.ts';
import { CATALOGUE, type CollectionName } from '../../../src/streams/catalogue.ts';
import type { CatalogueEntry } from '../../../src/streams/entry.ts';
import { FEED_STREAMS } from '../../support/catalogue.ts';
import { FAR_FUTURE } from '../environment.ts';
import { canonicalJson, instantText } from '../expected-rows.ts';
import { isFeed, itemsOf, type ServedPage, type ServedRead } from '../request-log.ts';
import type { ObservedCommit, Row, TestMirror } from '../test-mirror.ts';

/** A stream's own part of the mirror, as it stands in the file. */
export interface StreamState {
  readonly watermark: string | null;
  /** The unfinished round as stored. */
  readonly round: StoredRound | null;
  /** The scan that is set aside while the feeds go on (R9). */
  readonly waiting: StoredRound | null;
  /** The rows of its table by key; `mirrored_at` is left out. */
  readonly rows: ReadonlyMap<string, Row>;
  /** The edges of a column, which go along with it; only of the columns stream. */
  readonly edges: ReadonlyMap<string, Row>;
  /** Numbers of all marks of the environment, by stream and id. */
  readonly marks: ReadonlyMap<string, number>;
  readonly lastMark: number;
  /** Keys of removals that are held back. */
  readonly heldBack: ReadonlySet<string>;
  /** Streams that have marks made for them: their first scan has begun. */
  readonly markedStreams: ReadonlySet<string>;
}

interface StoredRound {
  readonly mode: string;
  readonly reason: string;
  /** A mirror without rows needs no sweep. */
  readonly sweeps: boolean;
  readonly firstPageAt: string | null;
  readonly incomplete: boolean;
  readonly read: {
    readonly path: string[];
    readonly query: ServedRead['query'];
    readonly cursor: string | null;
    readonly at: string | null;
  } | null;
}

/** One commit, before and after, with what was served for it. */
export interface CommitTransition extends ObservedCommit {
  readonly before: StreamState;
  readonly after: StreamState;
  /** The read whose page this commit brings in; null when it brings none. */
  readonly read: ServedRead | null;
  readonly page: ServedPage | null;
  /** All that was served since the round began, this page included. */
  readonly reads: readonly ServedRead[];
  readonly rows: TestMirror['rows'];
  readonly seen: TestMirror['seen'];
}

/** What a commit must not do: what it did, in words, or nothing. */
export type Invariant = (transition: CommitTransition) => readonly string[];

/** The streams whose rows stay when they are deleted. */
export const SOFT_DELETING: readonly CollectionName[] = FEED_STREAMS;

/** Lists that make one full scan. */
export function variantsOf(stream: CollectionName): number {
  return entryOf(stream).scanQueries.length;
}

/** Times of the mirror later than this stand against what a scan, or an answer by ids, shows (R10); null for a feed. */
export function floorOf(
  read: ServedRead,
  transition: Pick<CommitTransition, 'overlapSeconds' | 'serverTime'>,
): string | null {
  return isFeed(read) ? null : (settledBefore(read, transition) ?? '9999');
}

/** T of the run that began the read less the overlap; a later answer may have shown that T was too late (R1). */
function settledBefore(
  { at }: ServedRead,
  { overlapSeconds, serverTime }: Pick<CommitTransition, 'overlapSeconds' | 'serverTime'>,
): string | null {
  if (at === null) return null;
  return addSeconds(serverTime !== null && serverTime < at ? serverTime : at, -overlapSeconds);
}

/** What hangs on a row may be committed after the read, where the row is younger than the overlap (R18, R22). */
export function mayLag(transition: CommitTransition, read: ServedRead, row: Row | undefined): boolean {
  const settled = settledBefore(read, transition);
  const at = timeOf(row ?? {}, 'synced_at');
  return at !== '' && at !== instantText(FAR_FUTURE) && (settled === null || at > settled);
}

/** Whether a typed list showed a row in an earlier version than the one held, and may not have come to that. */
export function isLaggingVersion(
  transition: CommitTransition,
  read: ServedRead,
  item: Readonly<Record<string, unknown>>,
): boolean {
  const id = String(item['id']);
  const row = transition.after.rows.get(id);
  return instantText(String(item['synced_at'])) < timeOf(row ?? {}, 'synced_at') && mayLag(transition, read, row);
}

export function isLive(row: Row | undefined): row is Row {
  return row !== undefined && (row['deleted_at'] ?? null) === null;
}

export function returnsRow(read: ServedRead, id: string): boolean {
  return itemsOf(read).some((item) => item['id'] === id);
}

/** A time as text that can be compared: none is the oldest. */
export function timeOf(row: Row, name: string): string {
  return String(row[name] ?? '');
}

export function includesRow(a: Row, b: Row): boolean {
  return Object.keys(b).every((name) => a[name] === b[name] || canonicalJson(a[name]) === canonicalJson(b[name]));
}

function entryOf(stream: CollectionName): CatalogueEntry {
  const entry = CATALOGUE.find(({ name }) => name === stream);
  if (entry === undefined) throw new Error(`no stream ${stream}`);
  return entry;
}

export function keyOf(stream: CollectionName, row: Row | Record<string, unknown>): string {
  return entryOf(stream)
    .key.map((name) => row[name])
    .join(' < ');
}

const tableOf = (stream: CollectionName): string => entryOf(stream).table;

/** The round of a stream, and the one that waits, as stored. */
export function roundsOf(
  { rows }: TestMirror,
  envId: string,
  stream: CollectionName,
): Pick<StreamState, 'round' | 'waiting'> {
  const sql = 'select round, waiting_scan from sync_checkpoints where env_id = ? and stream = ?';
  return roundsIn(rows(sql, envId, stream)[0]);
}

function roundsIn(stored: Row | undefined): Pick<StreamState, 'round' | 'waiting'> {
  const round = JSON.parse(String(stored?.['round'] ?? null)) as StoredRound | null;
  const setAside = JSON.parse(String(stored?.['waiting_scan'] ?? null)) as {
    readonly round: StoredRound | null;
  } | null;
  return { round, waiting: setAside?.round ?? null };
}

export function loadStreamState({ rows }: TestMirror, envId: string, stream: CollectionName): StreamState {
  const table = (name: string, of: CollectionName): Map<string, Row> =>
    new Map(
      rows(`select * from ${name} where env_id = ?`, envId).map(({ env_id: _, mirrored_at: __, ...row }) => [
        keyOf(of, row as Row),
        row as Row,
      ]),
    );
  const checkpoints = rows('select * from sync_checkpoints where env_id = ?', envId);
  const own = checkpoints.find((each) => each['stream'] === stream);
  return {
    watermark: (own?.['watermark'] ?? null) as string | null,
    ...roundsIn(own),
    rows: stream === 'test_executions' ? new Map() : table(tableOf(stream), stream),
    edges: stream === 'columns' ? table('column_lineage', 'column_lineage') : new Map(),
    marks: new Map(
      rows('select stream, id, number from marks where env_id = ?', envId).map((mark) => [
        `${mark['stream']} ${mark['id']}`,
        Number(mark['number']),
      ]),
    ),
    lastMark: Number(rows('select last_mark from mirror_environments where env_id = ?', envId)[0]?.['last_mark'] ?? 0),
    heldBack: new Set(
      rows('select key_1, key_2 from held_removals where env_id = ? and stream = ?', envId, stream).map(
        ({ key_1: first, key_2: second }) => (second === '' ? String(first) : `${first} < ${second}`),
      ),
    ),
    markedStreams: new Set(
      checkpoints
        .filter((each) => each['round'] !== null || each['scan_ended_cycle'] !== null)
        .map((each) => String(each['stream'])),
    ),
  };
}
