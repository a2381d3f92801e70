import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Row } from '../../../src/core/stream.ts';
import { recursiveViews } from '../../../src/destination/postgres/views.ts';
import { type MirrorFile, openForWriting } from '../../../src/destination/sqlite/open.ts';
import { expectSameRows, TABLES, VIEWS } from '../../support/compare-mirrors.ts';
import { fillNastyMirror } from '../../support/nasty-mirror.ts';
import { insertRow, pgliteMirror } from './setup.ts';

const postgres = await pgliteMirror('obsync');
await postgres.query('set search_path to obsync');

let file: MirrorFile;
beforeEach(() => {
  file = openForWriting(':memory:');
});
afterEach(async () => {
  file.connection.close();
  for (const { name } of TABLES) await postgres.query(`delete from "${name}"`);
});

const inFile = (sql: string) => file.connection.prepare(sql).all() as Row[];
const inPostgres = async (sql: string) => (await postgres.query(sql)).rows;

function add(table: string, row: Row): void {
  const names = Object.keys(row);
  file.connection
    .prepare(`insert into "${table}" (${names.map((name) => `"${name}"`)}) values (${names.map(() => '?')})`)
    .run(...Object.values(row));
}

/** Writes every row of the file to PostgreSQL, as `obsync copy` does (R19). */
async function copyTables(): Promise<void> {
  for (const { name, columns } of TABLES) {
    const named = columns.map((column) => `"${column}"`).join(', ');
    for (const row of inFile(`select ${named} from "${name}"`)) await insertRow(postgres, name, row);
  }
}

describe('the views of both databases', () => {
  test.each([1, 2, 3])('every table and view holds the same rows, whatever they are (%i)', async (seed) => {
    fillNastyMirror(add, seed);
    await copyTables();
    await expectSameRows(inFile, inPostgres, TABLES);
    await expectSameRows(inFile, inPostgres, VIEWS);
    const ofOne = (sql: string) => sql.replace(/ from "?(\w+)"?/, " from $1_of('e')");
    const own = (sql: string) => sql.replace(/ from "?(\w+)"?/, " from (select * from $1 where env_id = 'e') own");
    const recursive = VIEWS.filter(({ name }) => recursiveViews().includes(name));
    expect(recursive).toHaveLength(4);
    await expectSameRows(
      (sql) => inFile(own(sql)),
      (sql) => inPostgres(ofOne(sql)),
      recursive,
    );
    for (const { name } of VIEWS) expect(inFile(`select count(*) as n from ${name}`), name).not.toEqual([{ n: 0 }]);
  });
});

describe('the lineage views in PostgreSQL', () => {
  const asset = (id: string, row: Row = {}) =>
    add('assets', { env_id: 'e', id, name: id, kind: 'bi', mirrored_at: NOW, ...row });
  const edge = (from: string, to: string) =>
    add('asset_lineage', { env_id: 'e', upstream_asset_id: from, downstream_asset_id: to, mirrored_at: NOW });
  const depths = async (id: string) =>
    (
      await inPostgres(
        `select downstream_asset_id, depth from lineage_downstream where asset_id = '${id}' order by 2, 1`,
      )
    ).map((row) => `${row['downstream_asset_id']} ${row['depth']}`);

  test('the depth is that of the shortest path, and cycles terminate', async () => {
    for (const [from, to] of ['ab', 'bc', 'cd', 'ac', 'da', 'dd']) edge(String(from), String(to));
    await copyTables();
    expect(await depths('a')).toEqual(['b 1', 'c 1', 'd 2']);
    expect(await depths('d')).toEqual(['a 1', 'b 2', 'c 2']);
    await expectSameRows(inFile, inPostgres, VIEWS);
  });

  test('a graph with many diamonds is walked once per edge', async () => {
    const layers = 40;
    for (let layer = 0; layer < layers; layer++)
      for (const [from, to] of ['ll', 'lr', 'rl', 'rr']) edge(`${from}${layer}`, `${to}${layer + 1}`);
    await copyTables();
    const found = await depths('l0');
    expect(found).toHaveLength(2 * layers);
    expect(found.slice(-2)).toEqual([`l${layers} ${layers}`, `r${layers} ${layers}`]);
  });

  test('lineage leads neither to a deleted asset nor through one', async () => {
    asset('a');
    asset('b', { deleted_at: NOW, deletion: 'tombstone' });
    asset('c');
    for (const [from, to] of ['ab', 'bc']) edge(String(from), String(to));
    await copyTables();
    expect(await depths('a')).toEqual([]);
  });
});

const NOW = '2026-11-20T00:00:00.000000Z';

describe('the views in the catalogue of PostgreSQL', () => {
  const catalogue = async () =>
    await inPostgres(`select table_name, column_name, data_type from information_schema.columns
      where table_schema = 'obsync' and table_name in (select table_name from information_schema.views where table_schema = 'obsync')
      order by 1, ordinal_position`);

  test('every view has the columns of its description, in order', async () => {
    const found = Map.groupBy(await catalogue(), (row) => row['table_name']);
    for (const { name, columns } of VIEWS)
      expect(
        found.get(name)?.map((row) => row['column_name']),
        name,
      ).toEqual(columns);
    expect(found.size).toBe(VIEWS.length);
  });

  test('times are timestamptz, days dates, flags booleans, counts bigint, and measures double precision', async () => {
    const found = (await catalogue()).map((row) => [row['table_name'], row['column_name'], row['data_type']]);
    expect(found).toEqual(found.map(([view, column]) => [view, column, typeOf(String(column))]));
  });

  function typeOf(name: string): string {
    if (/_(at|time)$/.test(name)) return 'timestamp with time zone';
    if (name === 'day') return 'date';
    if (/disabled$/.test(name)) return 'boolean';
    if (/(_count|^depth|^days_since_update)$/.test(name)) return 'bigint';
    const isReal = /^(duration_|hours_|mean_|pass_rate|score|total)|ness$|^(validity|accuracy|consistency)$/.test(name);
    return isReal ? 'double precision' : 'text';
  }
});

describe('the views of a large mirror', () => {
  /** Enough rows that PostgreSQL does not scan a whole table for a few of them. */
  const fill = `
    insert into assets (env_id, id, name, kind, owners, tags, updated_at, mirrored_at)
      select 'e', 'a' || n, 'x', 'table', '["o"]', '["g"]', '2026-01-01', '2026-11-20' from generate_series(1, 4000) n;
    insert into columns (env_id, id, asset_id, name, mirrored_at)
      select 'e', 'c' || n, 'a' || n, 'x', '2026-11-20' from generate_series(1, 4000) n;
    insert into tests (env_id, id, name, asset_id, disabled, owners, tags, mirrored_at)
      select 'e', 't' || n, 'x', 'a' || n, false, '["o"]', '["g"]', '2026-11-20' from generate_series(1, 4000) n;
    insert into test_executions (env_id, sub_test_unique_id, id, test_id, sub_type, status, start_time, duration_seconds, mirrored_at)
      select 'e', 's' || n % 4000, 'r' || n, 't' || n % 4000, 'x', case n % 3 when 0 then 'PASS' else 'FAIL' end,
        timestamptz '2026-01-01' + n * interval '1 minute', 1, '2026-11-20' from generate_series(1, 20000) n;
    insert into latest_test_executions (env_id, sub_test_unique_id, id, test_id, sub_type, status, start_time, duration_seconds, mirrored_at)
      select 'e', 's' || n, 'r', 't' || n, 'x', 'FAIL', '2026-11-20', 1, '2026-11-20' from generate_series(1, 4000) n;
    insert into asset_lineage (env_id, upstream_asset_id, downstream_asset_id, mirrored_at)
      select 'e', 'a' || n, 'a' || n * 2, '2026-11-20' from generate_series(1, 4000) n;
    insert into asset_health_scores (env_id, asset_id, score, test_count, bucket_at, mirrored_at)
      select 'e', 'a' || n, 1, 1, '2026-11-20', '2026-11-20' from generate_series(1, 4000) n;
    insert into asset_health_score_dimensions (env_id, asset_id, dimension, score, test_count, bucket_at, mirrored_at)
      select 'e', 'a' || n, 'freshness', 1, 1, '2026-11-20', '2026-11-20' from generate_series(1, 4000) n;
    insert into asset_health_score_history (env_id, asset_id, dimension, score, test_count, bucket_at, mirrored_at)
      select 'e', 'a' || n % 4000, 'total', 1, 1, timestamptz '2026-01-01' + n * interval '1 hour', '2026-11-20'
      from generate_series(1, 20000) n;
    insert into sync_checkpoints (env_id, stream, watermark, unavailable) values ('e', 'assets', '2026-11-20', false)`;

  test('a filter on the environment and an id uses the keys of the tables', async () => {
    for (const statement of [...fill.split(';'), 'analyze']) await postgres.query(statement);
    const filtered = VIEWS.flatMap(({ name, columns }) => {
      const id = ['id', 'asset_id', 'test_id'].filter((each) => columns.includes(each));
      return id.map(
        (each) =>
          `select * from ${name} where env_id = 'e' and ${each} = '${id.includes('test_id') && each === 'test_id' ? 't7' : 'a7'}'`,
      );
    });
    const scanned: Record<string, string[]> = {};
    for (const sql of filtered) {
      const plan = (await postgres.query(`explain ${sql}`)).rows.map((row) => String(Object.values(row)[0]));
      const scans = plan.filter(
        (line) => /Seq Scan on/.test(line) && !/ on (environments|sync_checkpoints)/.test(line),
      );
      if (scans.length > 0) scanned[sql] = scans;
    }
    expect(filtered.length).toBeGreaterThan(20);
    expect(scanned).toEqual({});
  });
});
