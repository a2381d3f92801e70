import type { SqlDialect, UpsertConflict } from './statements.ts';
import { quote, type TableSql } from './tables.ts';

/** The condition that two rows differ in content. NULL equals NULL, and JSON is compared by value (R21). */
export function whereDiffers({ jsonDiffers }: SqlDialect, { content, kinds }: TableSql, a: string, b: string): string {
  const apart = content.map((name) => {
    const [one, other] = [`${a}.${quote(name)}`, `${b}.${quote(name)}`];
    return kinds.get(name) === 'json' ? jsonDiffers(one, other) : `${one} is distinct from ${other}`;
  });
  return apart.join(' or ');
}

/** The end of an insert that replaces rows with the same key. */
export function replacing({ unique }: SqlDialect, { name: target, columns, key }: TableSql): string {
  const others = columns.filter((name) => !key.includes(name));
  const set = others.map((name) => `${quote(name)} = excluded.${quote(name)}`).join(', ');
  return `on conflict (${key.map((name) => unique(target, name)).join(', ')}) do update set ${set}`;
}

/** The end of an insert, which decides which of two rows with the same key stays. */
export function onConflict(dialect: SqlDialect, sql: TableSql, conflict: UpsertConflict): string {
  if (conflict === 'append') return '';
  if (conflict === 'ignore') return 'on conflict do nothing';
  const replaced = replacing(dialect, sql);
  if (conflict === 'replace') return replaced;
  const held = quote(sql.name);
  const changed = `${replaced} where (${whereDiffers(dialect, sql, held, 'excluded')})`;
  if (!sql.columns.includes('synced_at')) return changed;
  return `${changed} and (${held}.synced_at is null or excluded.synced_at >= ${held}.synced_at)`;
}
