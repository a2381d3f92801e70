import { createHash, hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';
import { mirror as mirrorTable, syncRuns } from '../../schema/sync.ts';
import { type VerifyExportReport, verifyExportOnce } from '../../src/api/compare-export.ts';
import { type ExportReport, type ExportSettings, exportOnce } from '../../src/api/export-mirror.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import type { ObjectStore } from '../../src/export/bucket/object-store.ts';
import { type FileOperations, filesUnder, NODE_FILES } from '../../src/export/export-files.ts';
import type { ExportFormat } from '../../src/export/formats.ts';
import type { ExportManifest } from '../../src/export/manifest.ts';
import { EXPORT_RELATIONS } from '../../src/export/relation.ts';
import { expectedRow } from '../model/expected-rows.ts';
import { PLAIN_FEEDS } from '../support/catalogue.ts';
import { openFilled } from '../support/open-filled.ts';
import { SAMPLES } from '../support/samples.ts';
import { testFolder } from '../support/test-folder.ts';

export const folder = testFolder;

/** The mirror's time before its `n`th commit. */
export const mirroredAt = (n: number): string => instantOfMs(Date.parse('2026-11-20T04:00:00Z') + n * 1000);

type MadeRow = Readonly<Record<string, string | number | null>>;

export function insert({ connection }: MirrorFile, table: string, row: MadeRow): void {
  const full = { mirrored_at: mirroredAt(0), ...row };
  const names = Object.keys(full);
  connection
    .prepare(`insert into "${table}" (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`)
    .run(...Object.values(full));
}

/** Values that file formats tend to lose. */
const ODD_TEXTS = ['', ' ', 'a,"b"\nc\r\n', 'é😀', "it's", 'null', '\\N', 'NULL', '0012', '9e999', 'true'];

const oddText = (n: number): string | null => (n % 12 === 11 ? null : (ODD_TEXTS[n % 12] ?? null));

/** Fills every mirrored table, by default for two environments. */
export function fillMirror(mirror: MirrorFile, { assets = 40, runs = 400, envs = ['e1', 'É/2 *[x]'] } = {}): void {
  for (const env of envs) {
    insert(mirror, 'environments', { id: env, name: `name of ${env}`, last_synced_at: mirroredAt(1) });
    mirror.connection
      .prepare('insert into mirror_environments (env_id, mirrored_at) values (?, ?)')
      .run(env, mirroredAt(0));
    const pruned = { complete_before: mirroredAt(1), pruning_before: null, pruned_through: '', row_count: 2 ** 40 };
    insert(mirror, 'pruned_history', { env_id: env, history: 'test_executions', action: 'delete', ...pruned });
    for (let n = 0; n < assets; n++) fillAsset(mirror, env, n);
    for (let n = 0; n < runs; n++) insert(mirror, 'test_executions', execution(env, n % assets, n, runs));
  }
}

const assetId = (n: number): string => `model.shop.table_${String(n).padStart(4, '0')}`;

function fillAsset(mirror: MirrorFile, env_id: string, n: number): void {
  const asset_id = assetId(n);
  const deleted = n % 7 === 3 ? { deleted_at: '2026-11-19T00:00:00.000001Z', deletion: 'tombstone' } : {};
  const asset = { id: asset_id, name: `table ${n}`, kind: n % 5 === 0 ? 'bi' : 'table', source_type: 'dbt' };
  insert(mirror, 'assets', {
    env_id,
    ...asset,
    description: oddText(n),
    tags: '["a",{"b":1.0}]',
    owners: '[]',
    ...deleted,
  });
  insert(mirror, 'columns', {
    env_id,
    id: `${asset_id}.id`,
    asset_id,
    name: 'id',
    synced_at: '0001-01-01T00:00:00.000001Z',
  });
  insert(mirror, 'tests', {
    env_id,
    id: `test.${n}`,
    name: oddText(n),
    asset_id,
    disabled: n % 3 === 0 ? 1 : n % 3 === 1 ? 0 : null,
  });
  for (const kind of PLAIN_FEEDS)
    insert(mirror, kind, { env_id, ...expectedRow(kind, SAMPLES[kind](`${kind}.${n}`, asset_id)) });
  const next = assetId(n + 1);
  insert(mirror, 'asset_lineage', { env_id, upstream_asset_id: asset_id, downstream_asset_id: next });
  insert(mirror, 'column_lineage', {
    env_id,
    upstream_column_id: `${asset_id}.id`,
    downstream_column_id: `${next}.id`,
  });

  insert(mirror, 'latest_test_executions', execution(env_id, n, n, 100));
  const score = { env_id, asset_id, score: n / 7, test_count: n, bucket_at: '2026-11-20T04:00:00.000000Z' };
  insert(mirror, 'asset_health_scores', score);
  insert(mirror, 'asset_health_score_dimensions', { ...score, dimension: 'freshness' });
  for (let month = 1; month < 10; month++)
    insert(mirror, 'asset_health_score_history', {
      ...score,
      dimension: 'total',
      bucket_at: `2026-0${month}-0${month}T01:00:00.000000Z`,
    });
}

/** Columns and executions with texts that hardly compress, so a few thousand need several files. */
export function fillWide(mirror: MirrorFile, { columns = 0, runs = 0 }): void {
  const text = (n: number): string => Array.from({ length: 32 }, (_, i) => hash('sha256', `${n} ${i}`)).join('');
  insert(mirror, 'environments', { id: 'e1', name: 'Production' });
  for (let n = 0; n < columns; n++)
    insert(mirror, 'columns', { env_id: 'e1', id: `column.${String(n).padStart(6, '0')}`, name: text(n) });
  for (let n = 0; n < runs; n++)
    insert(mirror, 'test_executions', {
      ...execution('e1', n, 100_000 + n, 200_000),
      result_reason: text(n),
      mirrored_at: mirroredAt(-runs + n),
    });
}

const FIRST_DAY_MS = Date.parse('2026-08-22T00:00:00Z');

/** One of `runs` executions, evenly spread over ninety days. */
export function execution(env_id: string, test: number, n: number, runs: number): MadeRow {
  const ms = FIRST_DAY_MS + Math.floor((n / runs) * 90 * 86_400_000);
  return {
    env_id,
    sub_test_unique_id: `test.${test}.sub`,
    id: `run-${n}`,
    test_id: `test.${test}`,
    sub_type: 'rows',
    status: n % 5 === 0 ? 'FAIL' : 'PASS',
    failure_count: n % 3 === 0 ? null : (n % 9000) * 1e12,
    start_time: `${new Date(ms).toISOString().slice(0, 23)}456Z`,
    duration_seconds: n / 3,
    result_reason: oddText(n),
  };
}

type Fill = (mirror: MirrorFile) => void;

/** A writable mirror. */
export function makeMirror(fill: Fill = fillMirror): MirrorFile {
  return openFilled(join(folder(), 'm.db'), fill, (mirror) => {
    mirror.db.insert(mirrorTable).values({ id: 1, base_url: 'https://api.example.com' }).run();
    addRun(mirror, 1);
  });
}

/** A mirror that is closed after the test. */
export function openMirror(fill?: Fill): MirrorFile {
  const mirror = makeMirror(fill);
  onTestFinished(() => void mirror.connection.close());
  return mirror;
}

export const smallMirror = (): MirrorFile => openMirror(fillSmall);

const fillSmall: Fill = (mirror) => fillMirror(mirror, { assets: 10, runs: 60 });

/** A mirror, and a folder with its export. */
export async function exportedMirror(choice: ExportChoice = {}, fill?: Fill) {
  const [mirror, to] = [openMirror(fill), folder()];
  return { mirror, to, first: await exportOf(mirror, to, choice) };
}

/** Like the `n`th commit, changes rows of three tables and stamps them with its time (R21). */
export function change({ connection }: MirrorFile, n = 1): void {
  connection.exec(`update mirror_environments set mirrored_at = '${mirroredAt(n)}';
    update assets set name = 'change ${n}', mirrored_at = '${mirroredAt(n)}' where env_id = 'e1';
    delete from asset_lineage where env_id = 'e1';
    update test_executions set status = 'ERROR', mirrored_at = '${mirroredAt(n)}' where start_time > '2026-11'`);
}

/** A run, which has ended by default. */
export function addRun({ db }: MirrorFile, id: number, run: { nonce?: string; ended_at?: string | null } = {}): void {
  const times = { started_at: mirroredAt(0), ended_at: mirroredAt(1) };
  db.insert(syncRuns)
    .values({ id, cycle_id: id, status: 'done', nonce: `nonce of ${id}`, ...times, ...run })
    .run();
}

export type ExportChoice = Partial<Omit<ExportSettings, 'db' | 'to'>>;

export function exportOf(
  mirror: MirrorFile,
  to: string,
  choice: ExportChoice = {},
  files: FileOperations = NODE_FILES,
  onProgress: () => void = () => {},
): Promise<ExportReport> {
  return exportOnce(settingsOf(mirror, to, choice), { signal: new AbortController().signal, onProgress }, { files });
}

/** Compares an export with its mirror without the thread in which users run it, which takes far longer to start. */
export const verifyOf = (mirror: MirrorFile, against: string): Promise<VerifyExportReport> =>
  verifyExportOnce({ db: mirror.path, against }, new AbortController().signal);

/** An export into object storage. */
export function exportToBucket(
  mirror: MirrorFile,
  store: ObjectStore,
  choice: ExportChoice = {},
): Promise<ExportReport> {
  const watch = { signal: new AbortController().signal, onProgress: () => {} };
  return exportOnce(settingsOf(mirror, store.url, choice), watch, { open: async () => store });
}

const settingsOf = (mirror: MirrorFile, to: string, choice: ExportChoice): ExportSettings => ({
  db: mirror.path,
  to,
  format: 'parquet',
  tables: [],
  views: false,
  environments: [],
  keep: 1,
  targetSize: 8,
  ...choice,
});

export function manifestIn(to: string): ExportManifest {
  return JSON.parse(readFileSync(join(to, 'manifest.json'), 'utf8')) as ExportManifest;
}

/** The paths of the files in the manifest, sorted. */
export const pathsIn = (to: string): string[] =>
  manifestIn(to)
    .files.map(({ path }) => path)
    .sort();

/** The files that differ from the manifest: missing, or with other bytes. */
export function brokenFiles(to: string): string[] {
  return manifestIn(to)
    .files.filter(({ path, sha256 }) => sha256Of(join(to, path)) !== sha256)
    .map(({ path }) => path);
}

export function sha256Of(path: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch {
    return null;
  }
}

/** The data files, without their second names in the folders of the tables. */
export const dataFiles = (to: string): string[] =>
  filesUnder(to).filter((path) => {
    const isDelta = existsSync(join(to, path.split('/')[0] ?? '', '_delta_log'));
    return path.startsWith('.files/') || path.includes('/.part-') || (isDelta && path.includes('/part-'));
  });

type TextRow = readonly (string | null)[];

/** The rows of every relation of an export as DuckDB reads them through `views.sql`, and the types of the columns. */
export async function readBack(to: string, tables: readonly string[]) {
  const views = readFileSync(join(to, 'views.sql'), 'utf8');
  return readWith(views, Object.fromEntries(tables.map((table) => [table, `"${table}"`])));
}

/** What DuckDB reads from each of these sources after a script. */
export async function readWith(script: string, sources: Readonly<Record<string, string>>) {
  const duck = await (await DuckDBInstance.create(':memory:')).connect();
  try {
    if (script !== '') await duck.run(script);
    const types: Record<string, Record<string, string>> = {};
    const rows: Record<string, TextRow[]> = {};
    for (const [table, source] of Object.entries(sources)) {
      const described = (await duck.runAndReadAll(`describe from ${source}`)).getRowsJson() as string[][];
      types[table] = Object.fromEntries(described.map(([name = '', type = '']) => [name, type]));
      const columns = Object.entries(types[table]).map(([name, type]) => asText(`"${name}"`, type));
      const read = await duck.runAndReadAll(`select ${columns.join(', ')} from ${source}`);
      rows[table] = (read.getRowsJson() as TextRow[]).toSorted(byText);
    }
    return { types, rows };
  } finally {
    duck.closeSync();
  }
}

/** What DuckDB reads from the folder of each table. */
export function readByFolder(to: string, tables: readonly string[], format: ExportFormat = 'parquet') {
  const read = { parquet: 'read_parquet', delta: 'read_parquet', csv: 'read_csv', ndjson: 'read_json' }[format];
  const sources = tables.map((table) => [table, `${read}('${to}/${table}/**/part-*')`]);
  return readWith('', Object.fromEntries(sources));
}

function asText(column: string, type: string): string {
  if (type === 'TIMESTAMP WITH TIME ZONE')
    return `strftime(make_timestamp(epoch_us(${column})), '%Y-%m-%dT%H:%M:%S.%fZ')`;
  return type === 'BOOLEAN' ? `${column}::integer::varchar` : type === 'DOUBLE' ? `${column}` : `${column}::varchar`;
}

/** The rows of the mirror in the same form. */
export function mirrorRows({ connection }: MirrorFile, tables: readonly string[]): Record<string, TextRow[]> {
  return Object.fromEntries(
    tables.map((table) => {
      const columns = EXPORT_RELATIONS.find(({ name }) => name === table)?.columns ?? [];
      const list = columns.map(({ name }) => `"${name}"`).join(', ');
      const rows = connection.prepare(`select ${list} from "${table}"`).raw().all() as (string | number | null)[][];
      const texts = rows.map((row) =>
        row.map((value, i) => (value === null || columns[i]?.type === 'real' ? value : String(value))),
      );
      return [table, (texts as TextRow[]).toSorted(byText)];
    }),
  );
}

function byText(a: TextRow, b: TextRow): number {
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

export const TABLES = EXPORT_RELATIONS.filter(({ kind }) => kind === 'table').map(({ name }) => name);

export const ALL_RELATIONS = EXPORT_RELATIONS.map(({ name }) => name);
