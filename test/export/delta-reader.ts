import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { readWith } from './setup.ts';

/**
 * A reader of Delta tables, written from the protocol (reader version 1, writer version 2), which shares no code with
 * the program. It is strict: it rejects fields and actions that the protocol does not define.
 */
export interface DeltaRead {
  readonly version: number;
  readonly metaData: MetaDataRead;
  readonly schema: readonly FieldRead[];
  /** The files of the table, by path relative to the table. */
  readonly files: ReadonlyMap<string, AddRead>;
  readonly removed: ReadonlySet<string>;
  readonly txns: ReadonlyMap<string, number>;
}

interface MetaDataRead {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly schemaString: string;
  readonly createdTime: number;
}

interface FieldRead {
  readonly name: string;
  readonly type: string;
  readonly metadata: { readonly comment?: string };
}

interface AddRead {
  readonly size: number;
  readonly stats: FileStats;
}

interface FileStats {
  readonly numRecords: number;
  readonly minValues: Readonly<Record<string, string>>;
  readonly maxValues: Readonly<Record<string, string>>;
  readonly nullCount: Readonly<Record<string, number>>;
}

type ReadAction = Readonly<Record<string, unknown>>;

type ValueCheck = (value: unknown) => boolean;

const text: ValueCheck = (value) => typeof value === 'string';
const long: ValueCheck = Number.isSafeInteger;
const flag: ValueCheck = (value) => typeof value === 'boolean';
const list: ValueCheck = (value) => Array.isArray(value) && value.every(text);
const map: ValueCheck = (value) => typeof value === 'object' && value !== null && Object.values(value).every(text);
const uuid: ValueCheck = (value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(value));
const format: ValueCheck = (value) => JSON.stringify(value) === '{"provider":"parquet","options":{}}';

/** The required and optional fields of each action in the protocol. */
const ACTIONS: Readonly<Record<string, readonly [Record<string, ValueCheck>, Record<string, ValueCheck>]>> = {
  protocol: [{ minReaderVersion: long, minWriterVersion: long }, {}],
  metaData: [
    { id: uuid, format, schemaString: text, partitionColumns: list, configuration: map },
    { name: text, description: text, createdTime: long },
  ],
  add: [
    { path: text, partitionValues: map, size: long, modificationTime: long, dataChange: flag },
    { stats: text, tags: map },
  ],
  remove: [
    { path: text, dataChange: flag },
    { deletionTimestamp: long, extendedFileMetadata: flag, partitionValues: map, size: long, stats: text, tags: map },
  ],
  txn: [{ appId: text, version: long }, { lastUpdated: long }],
};

function check(name: string, action: ReadAction): void {
  if (name === 'commitInfo') return;
  const [required, optional] = ACTIONS[name] ?? [];
  if (required === undefined || optional === undefined) throw new Error(`no action ${name}`);
  for (const [field, fits] of Object.entries(required))
    if (!fits(action[field])) throw new Error(`${name}.${field} is ${JSON.stringify(action[field])}`);
  for (const [field, value] of Object.entries(action)) {
    if (field in required) continue;
    if (optional[field]?.(value) !== true) throw new Error(`${name}.${field} is ${JSON.stringify(value)}`);
  }
}

/** The actions of one commit, with their names. @throws Error if the protocol does not allow it */
export function readCommit(path: string): [string, ReadAction][] {
  const lines = readFileSync(path, 'utf8').split('\n');
  if (lines.pop() !== '') throw new Error(`${path} was cut short`);
  const actions = lines.flatMap((line) => Object.entries(JSON.parse(line) as Record<string, ReadAction>));
  for (const [name, action] of actions) check(name, action);
  const keys = actions.map(([name, { appId, path: of }]) => {
    if (name === 'add' || name === 'remove') return `file ${of}`;
    return name === 'txn' ? `txn ${appId}` : name;
  });
  if (new Set(keys).size < keys.length) throw new Error(`${path} has two actions that reconcile with each other`);
  return actions;
}

/** The actions of a checkpoint, read by DuckDB. */
export async function readCheckpoint(table: string, version: number): Promise<[string, ReadAction][]> {
  const path = join(table, '_delta_log', `${String(version).padStart(20, '0')}.checkpoint.parquet`);
  const duck = await (await DuckDBInstance.create(':memory:')).connect();
  const names = Object.keys(ACTIONS);
  const json = names.map((name) => `to_json(${name})::varchar`).join(', ');
  const read = (await duck.runAndReadAll(`select ${json} from read_parquet('${path}')`)).getRowsJson();
  duck.closeSync();
  return (read as (string | null)[][]).map((row) => {
    const held = row.flatMap((value, i): [string, ReadAction][] =>
      value === null ? [] : [[String(names[i]), withoutNulls(JSON.parse(value))]],
    );
    const [action] = held;
    if (held.length !== 1 || action === undefined) throw new Error(`a row of ${path} has ${held.length} actions`);
    check(...action);
    return action;
  });
}

const withoutNulls = (action: ReadAction): ReadAction =>
  Object.fromEntries(Object.entries(action).filter(([, value]) => value !== null));

interface StartingPoint {
  readonly version: number;
  readonly actions: readonly (readonly [string, ReadAction])[];
}

/** The newest version of a table, read from its first commit or a checkpoint; null without a log. */
export function readTable(table: string, start: StartingPoint = { version: -1, actions: [] }): DeltaRead | null {
  const log = join(table, '_delta_log');
  const names = readdirSync(table).includes('_delta_log') ? readdirSync(log) : [];
  const commits = names
    .filter((name) => /^\d{20}\.json$/.test(name) && Number(name.slice(0, 20)) > start.version)
    .sort();
  if (start.version + commits.length < 0) return null;
  const [latest, files, removed, txns] = [new Map<string, ReadAction>(), new Map(), new Set<string>(), new Map()];
  const apply = ([kind, action]: readonly [string, ReadAction]): void => {
    const path = decodeURIComponent(String(action['path']));
    if (kind === 'add') files.set(path, { size: action['size'], stats: JSON.parse(String(action['stats'])) });
    if (kind === 'add') removed.delete(path);
    if (kind === 'remove') removed.add(path);
    if (kind === 'remove') files.delete(path);
    if (kind === 'txn') txns.set(action['appId'], action['version']);
    latest.set(kind, action);
  };
  for (const action of start.actions) apply(action);
  for (const [i, name] of commits.entries()) {
    if (Number(name.slice(0, 20)) !== start.version + 1 + i) throw new Error(`${log} lacks a version before ${name}`);
    for (const action of readCommit(join(log, name))) apply(action);
    if (!latest.has('protocol') || !latest.has('metaData')) throw new Error(`${log} does not begin with its schema`);
  }
  const protocol = latest.get('protocol') as { minReaderVersion: number; minWriterVersion: number };
  if (protocol.minReaderVersion !== 1 || protocol.minWriterVersion !== 2) throw new Error('protocol');
  const metaData = latest.get('metaData') as unknown as MetaDataRead;
  const schema = (JSON.parse(metaData.schemaString) as { fields: FieldRead[] }).fields;
  for (const [path, { size }] of files)
    if (statSync(join(table, path)).size !== size) throw new Error(`${path} has not ${size} bytes`);
  return { version: start.version + commits.length, metaData, schema, files, removed, txns };
}

const DUCKDB_TYPES: Readonly<Record<string, string>> = {
  string: 'VARCHAR',
  long: 'BIGINT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP WITH TIME ZONE',
  date: 'DATE',
};

/**
 * The rows of an export's tables according to their logs, and the types in the logs and the files.
 */
export async function readDelta(to: string, tables: readonly string[]) {
  const read = tables.map((name) => [name, readTable(join(to, name))] as const);
  const sources = read.flatMap(([name, table]) => {
    const paths = [...(table?.files.keys() ?? [])].map((path) => `'${join(to, name, path).replaceAll("'", "''")}'`);
    return paths.length === 0
      ? []
      : [[name, `read_parquet([${paths.join(', ')}], hive_partitioning = false)`] as const];
  });
  const { types, rows } = await readWith('', Object.fromEntries(sources));
  const declared = Object.fromEntries(
    read.map(([name, table]) => [
      name,
      Object.fromEntries((table?.schema ?? []).map((field) => [field.name, DUCKDB_TYPES[field.type]])),
    ]),
  );
  return { types, declared, rows: Object.fromEntries(tables.map((name) => [name, rows[name] ?? []])) };
}
