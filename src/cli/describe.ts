import { describe, type MirrorDescription, type TableDescription } from '../api/describe.ts';
import { printingCommand } from './print.ts';

export const describeCommand = printingCommand(
  ({ table }) => describe(typeof table === 'string' ? { table: [table] } : {}),
  (described) => (described.tables.length === 1 ? renderColumns : renderAll)(described),
);

function renderAll({ tables, metrics }: MirrorDescription): string {
  const list = (wanted: TableDescription['kind']): string =>
    tables
      .filter(({ kind }) => kind === wanted)
      .map(({ name, meaning }) => `  ${name}: ${meaning}\n`)
      .join('');
  return `Tables\n${list('table')}\nViews\n${list('view')}${renderMetrics(metrics)}\nColumns: obsync describe NAME\n`;
}

function renderMetrics(metrics: MirrorDescription['metrics']): string {
  if (metrics.length === 0) return '';
  const lines = metrics.map(
    ({ name, view, expression, meaning }) => `  ${name}: ${expression}, from ${view}: ${meaning}\n`,
  );
  return `\nMetrics\n${lines.join('')}`;
}

function renderColumns({ tables, metrics }: MirrorDescription): string {
  const described = tables
    .map(({ meaning, columns }) => {
      const lines = columns.map((column) => {
        const type = column.type === null ? '' : ` (${column.type})`;
        return `  ${column.name}${type}: ${column.meaning}\n`;
      });
      return `${meaning}\n\n${lines.join('')}`;
    })
    .join('\n');
  return described + renderMetrics(metrics);
}
