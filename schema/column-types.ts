import type { Column } from 'drizzle-orm';
import {
  customType,
  integer as integerColumn,
  real as realColumn,
  type SQLiteColumnBuilderBase,
  text as textColumn,
} from 'drizzle-orm/sqlite-core';

/** What a column holds: text, integer or real in SQLite, a type each in PostgreSQL (see `postgres-columns.ts`). */
export type ColumnKind = 'text' | 'integer' | 'real' | 'time' | 'day' | 'flag' | 'json';

/** A column in the making. It is named by its key in the table or view. */
export type DescribedBuilder = SQLiteColumnBuilderBase & { readonly kind: ColumnKind; readonly description: string };

const described = <Builder extends object>(builder: Builder, kind: ColumnKind, description: string) =>
  Object.assign(builder, { kind, description });

const columnOf = <Data>(kind: ColumnKind, stored: 'text' | 'integer') => {
  const make = customType<{ data: Data; config: { kind: ColumnKind } }>({ dataType: () => stored });
  return (description: string) => described(make({ kind }), kind, description);
};

export const text = <Value extends string, Values extends Readonly<[Value, ...Value[]]>>(
  description: string,
  config: { readonly enum?: Values } = {},
) => described(textColumn(config), 'text', description);

export const integer = (description: string) => described(integerColumn(), 'integer', description);

export const real = (description: string) => described(realColumn(), 'real', description);

/** An instant, as the engine writes it (R4). */
export const time = columnOf<string>('time', 'text');

/** A UTC day such as `2026-11-20`. */
export const day = columnOf<string>('day', 'text');

/** 0 or 1. */
export const flag = columnOf<number>('flag', 'integer');

/** JSON text as the source sent it. It is compared by value; the order of members does not count (R21). */
export const json = columnOf<string>('json', 'text');

type BuilderOf = (description: string) => DescribedBuilder;

export const BUILDERS: Readonly<Record<ColumnKind, BuilderOf>> = { text, integer, real, time, day, flag, json };

export function kindOf(column: Column): ColumnKind {
  const { fieldConfig } = column['config'] as { fieldConfig?: { kind: ColumnKind } };
  return fieldConfig?.kind ?? (column.getSQLType() as 'text' | 'integer' | 'real');
}
