import { joinKey } from '../../core/decode.ts';
import type { HeldRow } from '../../core/difference.ts';
import type { Keys } from '../../core/holding.ts';
import type { Row, Stream } from '../../core/stream.ts';
import { held } from './lookups.ts';
import { type Part, rows } from './part.ts';
import { list, nameOf, quote, shapeOf } from './shape.ts';

/** The rows held under these keys with those of their parts, by joined key. */
export function heldRows(part: Part, stream: Stream, keys: Keys): Map<string, HeldRow> {
  const found = held(part, stream, keys);
  const of = partsOf(part, stream, keys);
  const all = keys.flatMap((key): [string, HeldRow][] => {
    const joined = joinKey(key);
    const row = found.get(joined);
    const parts = of.map((byOwner) => byOwner.get(joined) ?? []);
    if (row !== undefined) return [[joined, { row, parts }]];
    return parts.flat().length === 0 ? [] : [[joined, { row: { [String(stream.key[0])]: joined }, parts, torn: true }]];
  });
  return new Map(all);
}

/** The rows of each part by what they belong to. */
function partsOf(part: Part, stream: Stream, keys: Keys): Map<string, Row[]>[] {
  const owner = stream.key[0] as string;
  return (stream.parts ?? []).map(({ table }) => {
    const sql = `select ${list(shapeOf(table).given)} from ${nameOf(table)}
      where env_id = @env and ${quote(owner)} in (select value from json_each(@ids))`;
    const ids = JSON.stringify(keys.map(([id]) => id));
    return Map.groupBy(rows(part, sql, { ids }), (row) => String(row[owner]));
  });
}
