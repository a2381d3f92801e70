import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BiOptions, type BiReport, NAME_MIRROR, writeBi } from '../api/bi.ts';
import { counted } from '../core/counted.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { type CommandAction, logSettings } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print.ts';

export const biCommand: CommandAction = async (args, io) => {
  const report = await writeBi({ ...libraryOptions<BiOptions>(args), tool: args['tool'] as BiReport['tool'] });
  const address = NAME_MIRROR.includes(report.tool) ? addressOf(givenAddress(libraryOptions(args))) : null;
  if (address?.kind === 'file' && !existsSync(address.path)) {
    const { path: db } = address;
    const log = await io.log(logSettings(args));
    log.warn(`${db} does not exist yet: the files refer to it as the mirror. Sync into it, or name another with --db`);
  }
  printReport(report, args, io, renderFiles, true);
  return 0;
};

function renderFiles({ tool, to, files }: BiReport): string {
  const lines = files.map(({ path, written }) => `  ${path}${written ? '' : ' (unchanged)'}\n`);
  return `${to} contains ${counted(files.length, 'file')} for ${tool}:\n${lines.join('')}${NEXT[tool](to)}\n`;
}

/** How to use the files. */
const NEXT: Readonly<Record<BiReport['tool'], (to: string) => string>> = {
  dbt: () =>
    'Copy it into the models of a dbt project. Set the variables obsync_database and obsync_schema to where the mirror is.',
  semantic: () =>
    'Load it into a tool that reads Apache Ossie 0.2.0.dev0. Its sources are in the schema of the mirror that --db names.',
  grafana: () =>
    'Import a dashboard and choose the data source, or copy provisioning into Grafana’s provisioning folder.',
  superset: () =>
    'Import the first archive on the Dashboards page of Superset. The second replaces it after an upgrade, through the API.',
  datasette: (to) =>
    `Run: datasette FILE -m ${join(to, 'metadata.json')} --setting sql_time_limit_ms 10000. FILE is the mirror: the descriptions are for its name.`,
  metabase: (to) =>
    `Set METABASE_URL, METABASE_API_KEY and METABASE_DATABASE, the name of the mirror in Metabase, then run: node ${join(to, 'metabase.mjs')}`,
  prometheus: (to) =>
    `Name ${join(to, 'alerts.yml')} under rule_files in the configuration of Prometheus, and scrape obsync (docs/serve.md).`,
};
