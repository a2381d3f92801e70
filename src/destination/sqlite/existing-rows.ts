import { joinKey } from '../../core/decode.ts';
import type { ExistingRow } from '../../core/difference.ts';
import type { RowKeys } from '../../core/mirror-reader.ts';
import type { Row, Stream } from '../../core/stream.ts';
import { existingRows } from './lookups.ts';
import { type MirrorScope, rows } from './mirror-scope.ts';
import { list, nameOf, quote, tableSqlOf } from './table-sql.ts';

/** The rows held under these keys with those of their parts, by joined key. */
export function existingWithChildren(
  mirrorScope: MirrorScope,
  stream: Stream,
  rowKeys: RowKeys,
): Map<string, ExistingRow> {
  const found = existingRows(mirrorScope, stream, rowKeys);
  const of = partsOf(mirrorScope, stream, rowKeys);
  const all = rowKeys.flatMap((key): [string, ExistingRow][] => {
    const joined = joinKey(key);
    const row = found.get(joined);
    const parts = of.map((byOwner) => byOwner.get(joined) ?? []);
    if (row !== undefined) return [[joined, { row, parts }]];
    return parts.flat().length === 0
      ? []
      : [[joined, { row: { [String(stream.key[0])]: joined }, parts, partial: true }]];
  });
  return new Map(all);
}

/** The rows of each part by what they belong to. */
function partsOf(mirrorScope: MirrorScope, stream: Stream, rowKeys: RowKeys): Map<string, Row[]>[] {
  const owner = stream.key[0] as string;
  return (stream.childTables ?? []).map(({ table }) => {
    const sql = `select ${list(tableSqlOf(table).given)} from ${nameOf(table)}
      where env_id = @env and ${quote(owner)} in (select value from json_each(@ids))`;
    const ids = JSON.stringify(rowKeys.map(([id]) => id));
    return Map.groupBy(rows(mirrorScope, sql, { ids }), (row) => String(row[owner]));
  });
}
