import { escapeLiteral } from 'pg';
import { MIRROR_VIEWS } from '../../../schema/dictionary.ts';
import { type DescribedTable, descriptionOf } from '../../../schema/table.ts';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';
import { quote } from '../sql/tables.ts';

/** The statements that give tables, views and columns their descriptions, for whoever looks at them in the database. */
export function commentStatements(): string {
  return [...MIRRORED_TABLES, ...STATE_TABLES, ...MIRROR_VIEWS].map(descriptionOf).flatMap(commentsOf).join(';\n');
}

function commentsOf({ name, kind, description, columns }: DescribedTable): string[] {
  return [
    `comment on ${kind} ${quote(name)} is ${escapeLiteral(description)}`,
    ...columns.map(
      (column) => `comment on column ${quote(name)}.${quote(column.name)} is ${escapeLiteral(column.description)}`,
    ),
  ];
}
