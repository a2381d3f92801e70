import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BiOptions, type BiReport, writeBi } from '../library/bi.ts';
import { DEFAULTS } from '../library/defaults.ts';
import type { CommandAction } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { counted } from './words.ts';

export const bi: CommandAction = async (args, io) => {
  // The library checks the values.
  const report = await writeBi({ ...libraryOptions(args), tool: args['tool'] } as unknown as BiOptions);
  const db = (args['db'] as string | undefined) ?? DEFAULTS.db;
  if (NAME_MIRROR.includes(report.tool) && !existsSync(db)) {
    const log = await io.log('warn');
    log.warn(`${db} does not exist yet: the files name it as the mirror, so sync it there, or name another with --db`);
  }
  printReport(report, args, io, renderFiles);
  return 0;
};

/** The tools in whose files the path of the mirror stands. */
const NAME_MIRROR: readonly BiReport['tool'][] = ['grafana', 'superset'];

function renderFiles({ tool, to, files }: BiReport): string {
  const lines = files.map(({ path, written }) => `  ${path}${written ? '' : ' (as it was)'}\n`);
  return `${to} holds ${counted(files.length, 'file')} for ${tool}:\n${lines.join('')}${NEXT[tool](to)}\n`;
}

/** What to do with the files. */
const NEXT: Readonly<Record<BiReport['tool'], (to: string) => string>> = {
  dbt: () =>
    'It belongs among the models of a dbt project; the variables obsync_database and obsync_schema say where the mirror is.',
  semantic: () => 'Give it to a tool that reads Apache Ossie 0.1.1; change obsync.main in it to where the mirror is.',
  grafana: () =>
    'Import a dashboard and choose the data source, or copy provisioning into the folder of that name of Grafana.',
  superset: () => 'Import the archive of your database: superset import-dashboards -p FILE -u admin.',
  metabase: (to) =>
    `Set METABASE_URL, METABASE_API_KEY and METABASE_DATABASE, the name of the mirror in Metabase, and run it: node ${join(to, 'metabase.mjs')}`,
};
