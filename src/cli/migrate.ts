import { type MigrateReport, migrate } from '../api/migrate.ts';
import { counted } from '../core/counted.ts';
import { libraryOptions } from './library-options.ts';
import { printingCommand } from './print.ts';

export const migrateCommand = printingCommand((args) => migrate(libraryOptions(args)), renderMigration);

function renderMigration({ db, change, citus }: MigrateReport): string {
  const changed = {
    made: `${db} was created; the first sync fills it.`,
    updated: `${db} was migrated.`,
    none: `${db} was already up to date.`,
  }[change];
  return citus === null ? `${changed}\n` : `${changed}\n${renderDistribution(citus)}\n`;
}

function renderDistribution({ distributed_now: now, distributed, local }: NonNullable<MigrateReport['citus']>): string {
  const done =
    now.length === 0
      ? `All ${counted(distributed.length, 'table')} of environments were already distributed by env_id.`
      : `${counted(now.length, 'table')} are now distributed by env_id: ${now.join(', ')}.`;
  return `${done}\nOn the coordinator: ${local.join(', ')}.`;
}
