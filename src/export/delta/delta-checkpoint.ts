import { parquetReadObjects } from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { DeltaAction, DeltaSnapshot } from './delta-action.ts';

/** How long readers of a table have to learn that a file was removed. */
const TOMBSTONE_MS = 7 * 86_400_000;

const column = (name: string, type: NonNullable<SchemaElement['type']>): SchemaElement => ({
  name,
  type,
  repetition_type: 'OPTIONAL',
});

const text = (name: string): SchemaElement => ({
  ...column(name, 'BYTE_ARRAY'),
  converted_type: 'UTF8',
  logical_type: { type: 'STRING' },
});

const long = (name: string): SchemaElement => column(name, 'INT64');

const flag = (name: string): SchemaElement => column(name, 'BOOLEAN');

const struct = (name: string, fields: readonly (readonly SchemaElement[])[]): SchemaElement[] => [
  { name, repetition_type: 'OPTIONAL', num_children: fields.length },
  ...fields.flat(),
];

const nested = (name: string, type: 'MAP' | 'LIST'): SchemaElement => ({
  name,
  repetition_type: 'OPTIONAL',
  num_children: 1,
  converted_type: type,
  logical_type: { type },
});

const map = (name: string): SchemaElement[] => [
  nested(name, 'MAP'),
  { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
  { ...text('key'), repetition_type: 'REQUIRED' },
  text('value'),
];

const list = (name: string): SchemaElement[] => [
  nested(name, 'LIST'),
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  text('element'),
];

/** The columns of a checkpoint, as the protocol defines them for a table of these versions. */
const COLUMNS: Readonly<Record<string, readonly (readonly SchemaElement[])[]>> = {
  txn: [[text('appId')], [long('version')], [long('lastUpdated')]],
  add: [
    [text('path')],
    map('partitionValues'),
    [long('size')],
    [long('modificationTime')],
    [flag('dataChange')],
    [text('stats')],
  ],
  remove: [
    [text('path')],
    [long('deletionTimestamp')],
    [flag('dataChange')],
    [flag('extendedFileMetadata')],
    map('partitionValues'),
    [long('size')],
  ],
  metaData: [
    [text('id')],
    [text('name')],
    [text('description')],
    struct('format', [[text('provider')], map('options')]),
    [text('schemaString')],
    list('partitionColumns'),
    [long('createdTime')],
    map('configuration'),
  ],
  protocol: [[column('minReaderVersion', 'INT32')], [column('minWriterVersion', 'INT32')]],
};

const SCHEMA: SchemaElement[] = [
  { name: 'root', num_children: Object.keys(COLUMNS).length },
  ...Object.entries(COLUMNS).flatMap(([name, fields]) => struct(name, fields)),
];

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
  return rows.map((row) => withoutNulls(row) as DeltaAction);
}

function withoutNulls(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const held = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return Object.fromEntries(held.map(([name, each]) => [name, withoutNulls(each)]));
}
