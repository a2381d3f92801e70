import { parentsOf, type Stream, type StreamParent } from '../core/stream.ts';
import type { CollectionEndpoint, OtherRow } from '../streams/endpoint.ts';

/** Rows of a marked stream's own table have no times; those that marked them do (R21), so they are joined. */
export function joinOf({ method, subtype, parentTable, key: [by] }: Omit<Stream, 'marks'>) {
  if (method !== 'marked' || subtype !== undefined || parentTable === undefined) return undefined;
  return { row: `${parentTable.table} c`, on: `c.env_id = r.env_id and c.id = r.${by}` };
}

/** A subquery for the row that `by` identifies, which is `p` in it. */
const selectNamedRow = (by: string, table: string, condition: string): string =>
  `(select 1 from ${table} p where p.env_id = r.env_id and p.id = r.${by} and ${condition})`;

/** A subquery for the first parent's row. @throws Error if the rows have no parent */
export function selectParentRow(stream: Omit<Stream, 'marks'>, condition: string): string {
  const [parent] = parentsOf(stream);
  if (parent === undefined) throw new Error('the rows of this endpoint have no parent');
  return selectNamedRow(parent.by, parent.table, condition);
}

export function whereRelatedRow({ by, table, is, where }: OtherRow): string {
  if (is === 'not deleted') return `not exists ${selectNamedRow(by, table, 'p.deleted_at is not null')}`;
  const kind = where === undefined ? '' : ` and p.${where.field} = '${where.is}'`;
  return `exists ${selectNamedRow(by, table, `p.deleted_at is null${kind}`)}`;
}

/** SQL of the ids of the assets that a row belongs to. */
export function assetIdsOf(stream: Omit<Stream, 'marks'>, { assets, idInPath }: CollectionEndpoint): string[] {
  const [id = ''] = stream.key;
  if (assets !== undefined) return assets.map((field) => `r.${field}`);
  // A reader who sees the row with that id also sees the rows under it.
  if (idInPath !== undefined) return [];
  if (stream.table === 'assets') return [`r.${id}`];
  if (joinOf(stream) === undefined) return parentsOf(stream).flatMap((parent) => assetIdsThrough(parent));
  const joined = parentsOf(stream).find(({ by }) => by === id);
  return (joined?.parents ?? []).map(({ by }) => `c.${by}`);
}

function assetIdsThrough({ by, table, parents = [] }: StreamParent): string[] {
  if (table === 'assets') return [`r.${by}`];
  return parents.map((own) => `(select p.${own.by} from ${table} p where p.env_id = r.env_id and p.id = r.${by})`);
}
