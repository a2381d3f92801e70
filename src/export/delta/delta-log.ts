import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import { applyCommit, type DeltaAction, type DeltaSnapshot, NO_TABLE } from './delta-action.ts';
import { APP_ID } from './delta-commit.ts';
import { PROTOCOL } from './delta-table.ts';

export const LOG_NAME = '_delta_log';

/** The file of a commit, relative to the table. */
export function commitPath(version: number): string {
  return `${LOG_NAME}/${String(version).padStart(VERSION_DIGITS, '0')}.json`;
}

const VERSION_DIGITS = 20;

const COMMIT = /^(\d{20})\.json$/;

/** The table in a folder, as its log has it. @throws SyncError `run` for a log that is not whole */
export function readLog(tableFolder: string): DeltaSnapshot {
  const log = join(tableFolder, LOG_NAME);
  const versions = (existsSync(log) ? readdirSync(log) : [])
    .flatMap((name) => COMMIT.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  return versions.reduce((before, version) => {
    const path = join(tableFolder, commitPath(before.version + 1));
    if (version !== before.version + 1) throw damaged(path, 'is missing');
    return applyCommit(before, version, parseCommit(readFileSync(path, 'utf8'), path));
  }, NO_TABLE);
}

function parseCommit(text: string, path: string): DeltaAction[] {
  try {
    const actions: unknown[] = text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line));
    if (actions.every(isJsonObject)) return actions as unknown as DeltaAction[];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw damaged(path, 'is not as Delta has it');
}

function damaged(path: string, how: string): SyncError {
  return new SyncError('run', `${path} ${how}: remove the folder ${LOG_NAME} that it belongs to, and export again`);
}

/** Another program may have changed the table. @throws SyncError `usage` for one that an export may not write to any more */
export function refuseUnwritable(table: string, { protocol, metaData }: DeltaSnapshot): void {
  const { minReaderVersion, minWriterVersion } = protocol ?? PROTOCOL;
  const isNewer = minReaderVersion > PROTOCOL.minReaderVersion || minWriterVersion > PROTOCOL.minWriterVersion;
  const what = isNewer
    ? 'asks for a newer version of the Delta protocol than an export writes'
    : metaData?.configuration['delta.appendOnly'] === 'true'
      ? 'may only be added to (delta.appendOnly)'
      : null;
  if (what === null) return;
  throw new SyncError(
    'usage',
    `another program has changed the Delta table ${table}: it ${what}. Name another folder with --to`,
  );
}

/** Whether an export has written to the table. */
export function isOfExport({ txns }: DeltaSnapshot): boolean {
  return txns.has(APP_ID);
}
