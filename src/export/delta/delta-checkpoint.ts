import { parquetReadObjects } from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { DAY_MS } from '../../core/time/duration.ts';
import { schemaElement } from '../encode-parquet.ts';
import type { DeltaAction, DeltaSnapshot } from './delta-action.ts';

/** How long readers of a table have to learn that a file was removed. */
const TOMBSTONE_MS = 7 * DAY_MS;

type CheckpointField = 'text' | 'integer' | 'boolean' | 'short' | 'map' | 'list' | CheckpointFields;

interface CheckpointFields {
  readonly [name: string]: CheckpointField;
}

/** The columns of a checkpoint, as the protocol defines them for a table of these versions. */
const COLUMNS: CheckpointFields = {
  txn: { appId: 'text', version: 'integer', lastUpdated: 'integer' },
  add: {
    path: 'text',
    partitionValues: 'map',
    size: 'integer',
    modificationTime: 'integer',
    dataChange: 'boolean',
    stats: 'text',
  },
  remove: {
    path: 'text',
    deletionTimestamp: 'integer',
    dataChange: 'boolean',
    extendedFileMetadata: 'boolean',
    partitionValues: 'map',
    size: 'integer',
  },
  metaData: {
    id: 'text',
    name: 'text',
    description: 'text',
    format: { provider: 'text', options: 'map' },
    schemaString: 'text',
    partitionColumns: 'list',
    createdTime: 'integer',
    configuration: 'map',
  },
  protocol: { minReaderVersion: 'short', minWriterVersion: 'short' },
};

/** A field, followed by those within it. */
function elementsOf(name: string, type: CheckpointField): SchemaElement[] {
  const text = (field: string): SchemaElement => schemaElement({ name: field, type: 'text' });
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  const nested = { ...optional, num_children: 1 };
  switch (type) {
    case 'short':
      return [{ ...optional, type: 'INT32' }];
    case 'map':
      return [
        { ...nested, converted_type: 'MAP', logical_type: { type: 'MAP' } },
        { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
        { ...text('key'), repetition_type: 'REQUIRED' },
        text('value'),
      ];
    case 'list':
      return [
        { ...nested, converted_type: 'LIST', logical_type: { type: 'LIST' } },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        text('element'),
      ];
    case 'text':
    case 'integer':
    case 'boolean':
      return [schemaElement({ name, type })];
    default:
      return [{ ...optional, num_children: Object.keys(type).length }, ...fieldsOf(type)];
  }
}

const fieldsOf = (types: CheckpointFields): SchemaElement[] =>
  Object.entries(types).flatMap(([name, type]) => elementsOf(name, type));

const SCHEMA: SchemaElement[] = [{ name: 'root', num_children: Object.keys(COLUMNS).length }, ...fieldsOf(COLUMNS)];

/** Numbers in these fields are four bytes long, all others eight. */
const isShort = (name: string): boolean => name.startsWith('min');

/** The sum of a log, so readers need nothing older. */
export function checkpointOf(snapshot: DeltaSnapshot, nowMs: number) {
  const actions = actionsOf(snapshot, nowMs).map((action): unknown =>
    JSON.parse(JSON.stringify(action), (name, value: unknown) =>
      typeof value === 'number' && !isShort(name) ? BigInt(value) : value,
    ),
  ) as Readonly<Record<string, unknown>>[];
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({ writer, schema: SCHEMA, createdBy: 'obsync' });
  const columnData = Object.keys(COLUMNS).map(
    (name): ColumnSource => ({ name, data: actions.map((action) => action[name] ?? null) }),
  );
  void parquet.write({ columnData });
  void parquet.finish();
  return { bytes: writer.getBytes(), actionCount: actions.length, fileCount: snapshot.files.size };
}

function actionsOf({ protocol, metaData, txns, files, tombstones }: DeltaSnapshot, nowMs: number): DeltaAction[] {
  const recent = [...tombstones.values()].filter(
    ({ deletionTimestamp = 0 }) => deletionTimestamp > nowMs - TOMBSTONE_MS,
  );
  return [
    ...(protocol === null ? [] : [{ protocol }]),
    ...(metaData === null ? [] : [{ metaData }]),
    ...[...txns.values()].map((txn) => ({ txn })),
    ...[...files.values()].map((add) => ({ add: { ...add, dataChange: false } })),
    ...recent.map((remove) => ({ remove: { ...remove, dataChange: false } })),
  ];
}

/** The actions of a checkpoint. @throws for bytes that are not a Parquet file */
export async function readCheckpoint(bytes: Uint8Array): Promise<DeltaAction[]> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const rows = await parquetReadObjects({ file, columns: Object.keys(COLUMNS) });
  // A field that an action lacks is null.
  const plain = (_: string, value: unknown): unknown =>
    typeof value === 'bigint' ? Number(value) : (value ?? undefined);
  return rows.map((row) => JSON.parse(JSON.stringify(row, plain)) as DeltaAction);
}
