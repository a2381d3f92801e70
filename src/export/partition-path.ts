import { hash } from 'node:crypto';
import { EXPORT_RELATIONS } from './relation.ts';
import type { ExportSegment } from './segment.ts';

/**
 * Where the files of an export and of earlier ones are, except for Delta; the folders of the tables share those of the
 * newest. Some readers skip it because of its dot, and a glob such as `*.parquet` because its files have no extension.
 */
export const FILES_FOLDER = '.files/';

export const isHidden = (path: string): boolean => path.startsWith(FILES_FOLDER);

/** How many digits of a hash are in the name of a data file. */
export const NAME_DIGITS = 16;

/** Most file systems limit a name to 255 bytes. */
const MAX_BYTES = 200;

/**
 * The folder of a partition, relative to the export's: the environment, percent-encoded, and the month. Readers would
 * take `env_id=…` for a second column of that name, and they skip names that begin with a dot or an underscore.
 */
export function partitionPath(table: string, { env_id, month }: Pick<ExportSegment, 'env_id' | 'month'>): string {
  if (env_id === null) return table;
  const encoded = encodeURIComponent(env_id)
    .replaceAll(/[!'()*~]|^[._]|\.$/g, percentEncoded)
    .replace(DEVICE, (name) => `${percentEncoded(name.slice(0, 1))}${name.slice(1)}`);
  const value = encoded.length <= MAX_BYTES ? encoded : `sha256-${hash('sha256', env_id)}`;
  return [table, value, ...(month === null ? [] : [month])].join('/');
}

/** A name that Windows takes for a device. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

const TABLE = `(${EXPORT_RELATIONS.map(({ name }) => name).join('|')})`;

const DATA_FILE = '(part|data)-[0-9a-f]{16}\\.(parquet|csv|ndjson)';

const PARTITION = '([^/]+/(\\d{4}-\\d{2}/)?)?';

const UNFINISHED = '\\.part-\\d+\\.tmp';

/** The data files of an export and its unfinished files, relative to its folder. */
const OURS = [
  new RegExp(`^${TABLE}/${PARTITION}(${DATA_FILE}|${UNFINISHED})$`),
  new RegExp(`^\\.files/${TABLE}/${PARTITION}([0-9a-f]{16}|${UNFINISHED})$`),
  /^\w+\/_delta_log\/\.[^/]+\.tmp$/,
  /^\w+\/\._delta_log\.tmp\/[^/]+$/,
];

/** Whether an export may remove a file that it no longer needs. */
export function isOwnPath(path: string): boolean {
  return OURS.some((pattern) => pattern.test(path));
}

/** Whether a file in the folder of a table is the second name of one under `FILES_FOLDER`; Delta tables have others. */
export function isSharedName(path: string): boolean {
  return /\/part-[^/]+$/.test(path) && !isHidden(path);
}

export function isLogPath(path: string): boolean {
  return LOG_FILE.test(path);
}

const LOG_FILE = new RegExp(`^${TABLE}/_delta_log/[^/]+$`);
