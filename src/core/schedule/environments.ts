import { sameRow } from '../decide/newest-wins.ts';
import { type DecodableStream, decodePage, type RejectedRow } from '../decode/decode.ts';
import type { StorageLimits } from '../decode/storage-limits.ts';
import type { Fields, Row } from '../stream.ts';
import type { Instant } from '../time/instant.ts';

/** The fields of an environment, as `GET /environments` lists it. */
export const ENVIRONMENT_FIELDS: Fields = {
  id: { type: 'text', required: true },
  name: { type: 'text', required: true },
  cron: { type: 'text' },
  last_sync_status: { type: 'text' },
  last_synced_at: { type: 'instant' },
  warehouse_type: { type: 'text' },
};

/** Environments are decoded like a stream, but are none: every stream belongs to an environment. */
const ENVIRONMENT: DecodableStream = { method: 'snapshot', key: ['id'], fields: ENVIRONMENT_FIELDS };

export interface ListedEnvironment {
  readonly id: string;
  readonly name: string;
  readonly cron: string | null;
}

export interface EnvironmentChanges {
  /** The environments that the run can read. */
  readonly listed: readonly ListedEnvironment[];
  /** Rows to write: environments that are new, changed, missing or back. */
  readonly changed: readonly Row[];
  /** The ids of environments that were missing and are back; their feed streams are scanned again (R13). */
  readonly returned: readonly string[];
  /** Environments in the mirror that the source does not list; their rows stay. */
  readonly missing: readonly ListedEnvironment[];
  readonly rejected: readonly RejectedRow[];
}

/** Compares the listed environments with those in the mirror. `now` is written as `missing_since`. */
export function reconcile(
  items: readonly unknown[],
  held: readonly Row[],
  now: Instant,
  limits: StorageLimits | null = null,
): EnvironmentChanges {
  const decoded = decodePage(ENVIRONMENT, items, { limits });
  const { rejected } = decoded;
  const accepted = decoded.rows.map(({ row }) => row);
  // An environment that is listed twice is read once.
  const rows = [...new Map(accepted.map((row) => [row['id'], row])).values()];
  const before = new Map(held.map((row) => [row['id'], row]));
  // A rejected row was listed too (R12, R20).
  const seen = new Set([...rows.map((row) => row['id']), ...rejected.map((row) => row.key?.[0])]);
  const listed = rows.map((row): Row => ({ ...row, missing_since: null }));
  const unlisted = held.filter((row) => !seen.has(row['id']));
  const lost = unlisted
    .filter((row) => row['missing_since'] === null)
    .map((row): Row => ({ ...row, missing_since: now }));
  return {
    listed: listed.map(toEnvironment),
    changed: [...listed.filter((row) => !sameRow(ENVIRONMENT_FIELDS, before.get(row['id']) ?? {}, row)), ...lost],
    returned: listed.filter((row) => before.get(row['id'])?.['missing_since']).map((row) => String(row['id'])),
    missing: unlisted.map(toEnvironment),
    rejected,
  };
}

/** The changes of the environments that a run reads, all by default, and of the others, such as missing ones. */
export function splitChanges(
  changes: EnvironmentChanges,
  readIds?: readonly string[],
): { readonly own: EnvironmentChanges; readonly others: EnvironmentChanges } {
  const read = new Set(readIds);
  const of = (isRead: boolean): EnvironmentChanges => {
    const isMeant = (id: unknown): boolean => (readIds === undefined || read.has(String(id))) === isRead;
    const { changed, returned } = changes;
    return { ...changes, changed: changed.filter(({ id }) => isMeant(id)), returned: returned.filter(isMeant) };
  };
  return { own: of(true), others: of(false) };
}

function toEnvironment(row: Row): ListedEnvironment {
  return { id: String(row['id']), name: String(row['name']), cron: row['cron'] as string | null };
}
