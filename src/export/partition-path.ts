import { createHash } from 'node:crypto';
import type { ExportSegment } from './segment.ts';

/** Most file systems take 255 bytes for a name. */
const MOST_BYTES = 200;

/**
 * The folder of a partition, relative to that of the export. The value of a name is percent-encoded, as Hive and DuckDB
 * have it.
 */
export function partitionPath(table: string, { envId, month }: Pick<ExportSegment, 'envId' | 'month'>): string {
  const encoded = encodeURIComponent(envId).replaceAll(/[!'()*~.]/g, percentEncoded);
  const value = encoded.length <= MOST_BYTES ? encoded : `sha256-${createHash('sha256').update(envId).digest('hex')}`;
  return `${table}/env_id=${value}${month === null ? '' : `/month=${month}`}`;
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

/** The name of a folder that is being removed: `a/.b.tmp` of `a/b`. */
export function asideOf(path: string): string {
  return path.replace(/[^/]+$/, (name) => `.${name}.tmp`);
}

/** A data file of an export, or what was not finished, relative to the folder of the export. */
const OURS = [
  /^\w+\/env_id=[^/]+(\/month=[\d-]+)?\/(part-[0-9a-f]{16}\.(parquet|csv|ndjson)|\.part-\d+\.tmp)$/,
  /^\w+\/_delta_log\/\.[^/]+\.tmp$/,
  /^\w+\/\._delta_log\.tmp\//,
];

/** Whether an export may remove a file that it no longer needs. */
export function isOwnPath(path: string): boolean {
  return OURS.some((pattern) => pattern.test(path));
}
