import { createHash } from 'node:crypto';
import type { ExportSegment } from './segment.ts';

/** Most file systems take 255 bytes for a name. */
const MOST_BYTES = 200;

/** The folder of a partition, relative to that of the export. The value of a name is percent-encoded, as Hive and DuckDB have it. */
export function partitionPath(table: string, { envId, month }: Pick<ExportSegment, 'envId' | 'month'>): string {
  const encoded = encodeURIComponent(envId).replaceAll(/[!'()*~.]/g, percentEncoded);
  const value = encoded.length <= MOST_BYTES ? encoded : `sha256-${createHash('sha256').update(envId).digest('hex')}`;
  return `${table}/env_id=${value}${month === null ? '' : `/month=${month}`}`;
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

/** A data file of an export, or one that was not finished, relative to the folder of the export. */
const OURS = /^(\w+)\/env_id=[^/]+(\/month=[\d-]+)?\/(part-[0-9a-f]{16}\.(parquet|csv|ndjson)|\.part-\d+\.tmp)$/;

export function isDataPath(path: string): boolean {
  return OURS.test(path);
}
