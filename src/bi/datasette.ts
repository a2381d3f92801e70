import { basename, extname } from 'node:path';
import { DICTIONARY } from '../../schema/dictionary.ts';
import type { DescribedTable } from '../../schema/table.ts';
import { usageError } from '../core/errors.ts';
import { CHARTS } from './charts.ts';
import { COLUMNS, type ColumnName } from './dataset-columns.ts';
import { SQLITE } from './dialect.ts';
import { type GeneratedFile, jsonFile, NOTE } from './generated-file.ts';
import { chartSql } from './query.ts';
import type { ToolPlaces } from './tool-places.ts';

/**
 * Metadata for Datasette: what tables and columns mean, columns to count by, and a query for each chart.
 * @throws SyncError `usage` for a mirror in PostgreSQL
 */
export function datasetteFiles({ mirror, pageUrl }: ToolPlaces): GeneratedFile[] {
  if (mirror.kind !== 'file')
    throw usageError('Datasette reads files: create one with `obsync copy --to FILE` and name it with --db');
  const dialect = { ...SQLITE, pageUrl };
  const queries = Object.entries(CHARTS).map(([id, chart]) => [
    id,
    { title: chart.title, description: chart.question, sql: chartSql(chart, dialect, []) },
  ]);
  const tables = DICTIONARY.map((table) => [table.name, described(table)]);
  // Datasette names a database by its file.
  const name = basename(mirror.path, extname(mirror.path));
  const database = { tables: Object.fromEntries(tables), queries: Object.fromEntries(queries) };
  return [jsonFile('metadata.json', { about: NOTE, databases: { [name]: database } })];
}

const FACETS = ['env_name', 'status', 'severity', 'owner', 'kind', 'worst_status', 'dimension', 'stream'];

function described({ description, columns, kind }: DescribedTable): object {
  const facets = columns.map(({ name }) => name).filter((name) => FACETS.includes(name));
  const units = columns.map(({ name }) => [name, unitOf(name)]).filter(([, unit]) => unit !== undefined);
  return {
    description,
    columns: Object.fromEntries(columns.map((column) => [column.name, column.description])),
    units: units.length === 0 ? undefined : Object.fromEntries(units),
    facets: kind === 'table' || facets.length === 0 ? undefined : facets,
  };
}

/** Datasette appends it to the number, so a fraction has none. */
function unitOf(name: string): string | undefined {
  const isHours = COLUMNS[name as ColumnName]?.unit === 'hours' || name.endsWith('_hours');
  return name.endsWith('_seconds') ? 's' : isHours ? 'h' : undefined;
}
