import type { SqlDialect, UpsertConflict } from './statements.ts';
import { quote, type TableSql } from './tables.ts';

/** The condition that two rows differ in content. NULL equals NULL, and JSON is compared by value (R21). */
export function whereDiffers(
  { jsonDiffers }: SqlDialect,
  { content, json }: TableSql,
  [a, b]: readonly [string, string],
): string {
  const apart = content.map((name) => {
    const [one, other] = [`${a}.${quote(name)}`, `${b}.${quote(name)}`];
    return json.has(name) ? jsonDiffers(one, other) : `${one} is distinct from ${other}`;
  });
  return apart.join(' or ');
}

/** The end of an insert that replaces rows with the same key. */
export function replacing(
  { unique }: Pick<SqlDialect, 'unique'>,
  { name: table, columns, key }: Pick<TableSql, 'name' | 'columns' | 'key'>,
): string {
  const others = columns.filter((name) => !key.includes(name));
  const set = others.map((name) => `${quote(name)} = excluded.${quote(name)}`).join(', ');
  return `on conflict (${key.map((name) => unique(table, name)).join(', ')}) do update set ${set}`;
}

/** The end of an insert, which decides which of two rows with the same key stays. */
export function onConflict(dialect: SqlDialect, sql: TableSql, conflict: UpsertConflict): string {
  if (conflict === 'append') return '';
  if (conflict === 'ignore') return 'on conflict do nothing';
  return `${replacing(dialect, sql)}${conflict === 'replace' ? '' : newer(dialect, sql)}`;
}

function newer(dialect: SqlDialect, sql: TableSql): string {
  const held = quote(sql.name);
  const changed = `(${whereDiffers(dialect, sql, [held, 'excluded'])})`;
  if (!sql.columns.includes('synced_at')) return ` where ${changed}`;
  return ` where ${changed} and (${held}.synced_at is null or excluded.synced_at >= ${held}.synced_at)`;
}
