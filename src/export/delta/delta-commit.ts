import { randomUUID } from 'node:crypto';
import type { Instant } from '../../core/time/instant.ts';
import { APP_ID, type DeltaAction, type DeltaSnapshot, type MetaDataAction } from './delta-action.ts';
import { type DeltaTable, PROTOCOL } from './delta-table.ts';

export interface CommitOrigin {
  readonly number: number;
  readonly instant: Instant;
  readonly nowMs: number;
}

/** Gives a log the names and columns of a table, unless it has them. What a user sets stays. */
function describe({ metaData: wanted }: DeltaTable, before: MetaDataAction | null, nowMs: number): DeltaAction[] {
  const isDescribed =
    before !== null &&
    before.name === wanted.name &&
    before.description === wanted.description &&
    before.schemaString === wanted.schemaString &&
    before.partitionColumns.length === 0;
  if (isDescribed) return [];
  const id = before?.id ?? randomUUID();
  const kept = { createdTime: before?.createdTime ?? nowMs, configuration: before?.configuration ?? {} };
  return [{ metaData: { id, ...wanted, ...kept } }];
}

/**
 * The actions that bring a log in line with the export's files; empty if it already is. After a kill, a commit that was
 * made is recognized by its files and not repeated.
 */
export function commitActions(
  table: DeltaTable,
  snapshot: DeltaSnapshot,
  origin: CommitOrigin,
  modifiedMs: (file: string) => number,
): DeltaAction[] {
  const { nowMs, number } = origin;
  const isReplaced = (path: string): boolean => snapshot.files.has(path) && !table.files.has(path);
  const removed = [...snapshot.files.values()].filter(({ path }) => !table.files.has(path));
  const added = [...table.files.values()].filter(({ path, size }) => snapshot.files.get(path)?.size !== size);
  const joined = added.filter(({ joins }) => joins[0] !== undefined && joins.every((path) => isReplaced(path)));
  const inJoined = new Set(joined.flatMap(({ joins }) => joins));
  const changes: DeltaAction[] = [
    ...(snapshot.protocol === null ? [{ protocol: PROTOCOL }] : []),
    ...describe(table, snapshot.metaData, nowMs),
    ...removed.map(({ path, size, partitionValues }) => ({
      remove: {
        path,
        size,
        partitionValues,
        dataChange: !inJoined.has(path),
        deletionTimestamp: nowMs,
        extendedFileMetadata: true,
      },
    })),
    ...added.map(({ file, joins, ...rest }) => {
      const dataChange = !joins.some((each) => inJoined.has(each));
      return { add: { ...rest, partitionValues: {}, modificationTime: modifiedMs(file), dataChange } };
    }),
  ];
  if (changes.length === 0) return [];
  const counts = { numRemovedFiles: String(removed.length), numAddedFiles: String(added.length) };
  return [
    { commitInfo: provenance(origin, counts) },
    { txn: { appId: APP_ID, version: number, lastUpdated: nowMs } },
    ...changes,
  ];
}

function provenance({ nowMs, instant }: CommitOrigin, operationMetrics: Readonly<Record<string, string>>) {
  return {
    timestamp: nowMs,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite', partitionBy: '[]' },
    isBlindAppend: false,
    operationMetrics,
    engineInfo: 'obsync',
    userMetadata: `the mirror as of ${instant}`,
  };
}
