import { createHash } from 'node:crypto';
import type { ExportSegment } from './segment.ts';

/** Most file systems limit a name to 255 bytes. */
const MAX_BYTES = 200;

/**
 * The folder of a partition, relative to the export's. The value in the name is percent-encoded, as in Hive and DuckDB.
 */
export function partitionPath(table: string, { envId, month }: Pick<ExportSegment, 'envId' | 'month'>): string {
  const encoded = encodeURIComponent(envId).replaceAll(/[!'()*~.]/g, percentEncoded);
  const value = encoded.length <= MAX_BYTES ? encoded : `sha256-${createHash('sha256').update(envId).digest('hex')}`;
  return `${table}/env_id=${value}${month === null ? '' : `/month=${month}`}`;
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

/** The name of a folder while it is being removed: `a/.b.tmp` for `a/b`. */
export function removalPathOf(path: string): string {
  return path.replace(/[^/]+$/, (name) => `.${name}.tmp`);
}

/** The data files of an export and its unfinished files, relative to its folder. */
const OURS = [
  /^\w+\/env_id=[^/]+(\/month=[\d-]+)?\/(part-[0-9a-f]{16}\.(parquet|csv|ndjson)|\.part-\d+\.tmp)$/,
  /^\w+\/_delta_log\/\.[^/]+\.tmp$/,
  /^\w+\/\._delta_log\.tmp\//,
];

/** Whether an export may remove a file that it no longer needs. */
export function isOwnPath(path: string): boolean {
  return OURS.some((pattern) => pattern.test(path));
}
