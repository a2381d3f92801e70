import { describe, type MirrorDescription, type TableDescription } from '../api/describe.ts';
import type { CommandAction } from './command.ts';
import { printReport } from './print.ts';

export const describeCommand: CommandAction = async (args, io) => {
  const table = args['table'] as string | undefined;
  const described = await describe(table === undefined ? {} : { table: [table] });
  printReport(described, args, io, table === undefined ? renderAll : renderColumns);
  return 0;
};

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
