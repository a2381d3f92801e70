import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { type FileOperations, filesUnder } from '../../src/export/export-files.ts';
import { EXPORT_RELATIONS } from '../../src/export/relation.ts';
import { obsync, refusal } from '../cli/setup.ts';
import { readCheckpoint, readCommit, readDelta, readTable } from './delta-reader.ts';
import { ASSETS, commitAssets, DELTA, exported, filesOf, fillAssets, versionsOf } from './delta-setup.ts';
import { changedSince, copyOf, SOME, watched } from './faults.ts';
import {
  ALL_RELATIONS,
  exportOf,
  folder,
  makeMirror,
  manifestIn,
  mirroredAt,
  mirrorRows,
  openMirror,
  TABLES,
  verifyOf,
} from './setup.ts';

const logPath = (to: string, table: string, version: number): string =>
  join(to, table, '_delta_log', `${String(version).padStart(20, '0')}.json`);

describe('a Delta table of an export', () => {
  test('it has every row of its table or view, with the types of the columns', async () => {
    const { mirror, to } = await exported({ views: true });
    const { types, declared, rows } = await readDelta(to, ALL_RELATIONS);
    expect(rows).toEqual(mirrorRows(mirror, ALL_RELATIONS));
    for (const table of ALL_RELATIONS) {
      const { columns } = EXPORT_RELATIONS.find(({ name }) => name === table) ?? { columns: [] };
      expect(Object.keys(declared[table] ?? {})).toEqual(columns.map(({ name }) => name));
      if (table in types) expect(types[table]).toEqual(declared[table]);
    }
    expect(Object.keys(types)).toEqual(expect.arrayContaining(TABLES));
  });

  test('it exists with its columns even without rows', async () => {
    const { to } = await exported({}, () => {});
    const table = readTable(join(to, 'assets'));
    expect(table).toMatchObject({ version: 0, files: new Map() });
    expect(table?.schema.map(({ name }) => name)).toContain('owners');
  });

  test('its column names differ by more than case', () => {
    for (const { columns } of EXPORT_RELATIONS)
      expect(new Set(columns.map(({ name }) => name.toLowerCase())).size).toBe(columns.length);
  });

  test('it has the descriptions of the dictionary', async () => {
    const { to } = await exported(ASSETS);
    const { metaData, schema } = readTable(join(to, 'assets')) ?? {};
    const described = DICTIONARY.find(({ name }) => name === 'assets');
    expect(metaData).toMatchObject({ name: 'assets', description: described?.description });
    expect((schema ?? []).map(({ name, metadata }) => [name, metadata.comment])).toEqual(
      described?.columns.map(({ name, description }) => [name, description]),
    );
  });

  test('its statistics count the rows of each file and bound its environment and its key or time', async () => {
    const { mirror, to } = await exported({ tables: ['columns', 'test_executions', 'environments'] });
    for (const [table, column, rounded] of [
      ['columns', 'id', false],
      ['test_executions', 'start_time', true],
      ['environments', 'id', false],
    ] as const) {
      const files = [...(readTable(join(to, table))?.files.values() ?? [])];
      const total = mirror.connection.prepare(`select count(*) from ${table}`).pluck().get();
      expect(files.reduce((sum, { stats }) => sum + stats.numRecords, 0)).toBe(total);
      for (const { stats } of files) {
        const [least, greatest] = [stats.minValues[column] ?? '', stats.maxValues[column] ?? ''];
        const env = stats.minValues['env_id'] ?? stats.minValues['id'];
        expect(stats.maxValues['env_id'] ?? stats.maxValues['id']).toBe(env);
        const row = mirror.connection
          .prepare(
            `select count(*) as n, min(${column}) as a, max(${column}) as b from ${table}
             where ${table === 'environments' ? 'id' : 'env_id'} = ? and ${column} >= ? and ${column} <= ?`,
          )
          .get(env, rounded ? least.slice(0, 23) : least, greatest) as { n: number; a: string; b: string };
        expect(row.n).toBe(stats.numRecords);
        expect(stats.nullCount).toEqual(Object.fromEntries(Object.keys(stats.minValues).map((name) => [name, 0])));
        if (rounded) expect([least, greatest]).toEqual([`${row.a.slice(0, 23)}Z`, nextMillisecond(row.b)]);
        else expect([least, greatest]).toEqual([row.a, row.b]);
      }
    }
  });

  test('it can be moved, because its paths are relative', async () => {
    const { mirror, to } = await exported({ tables: SOME });
    const moved = join(folder(), 'moved');
    renameSync(to, moved);
    expect((await readDelta(moved, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });
});

/** The fixture's times end in 456 microseconds. */
const nextMillisecond = (instant: string): string => new Date(Date.parse(`${instant.slice(0, 23)}Z`) + 1).toISOString();

describe('the log of a Delta table', () => {
  test('an export that changes the table makes one commit, with its number, and any other makes none', async () => {
    const { mirror, to } = await changedSince(DELTA);
    expect(versionsOf(to)).toEqual({ assets: 0, test_executions: 0, asset_lineage: 0 });
    mirror.connection.exec('delete from asset_lineage');
    await exportOf(mirror, to, DELTA);
    mirror.connection.exec(`update assets set name = 'y', mirrored_at = '${mirroredAt(2)}' where env_id = 'e1'`);
    await exportOf(mirror, to, DELTA);
    await exportOf(mirror, to, DELTA);
    expect(versionsOf(to)).toEqual({ assets: 2, test_executions: 1, asset_lineage: 1 });
    const numbers = SOME.map((table) => [...(readTable(join(to, table))?.txns ?? [])]);
    expect(numbers).toEqual([[['obsync export', 3]], [['obsync export', 2]], [['obsync export', 2]]]);
    expect((await readDelta(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });

  test('a commit removes and adds only files of changed partitions', async () => {
    const { mirror, to } = await changedSince(DELTA);
    await exportOf(mirror, to, DELTA);
    const commit = readCommit(logPath(to, 'assets', 1));
    expect(commit.map(([name]) => name)).toEqual(['commitInfo', 'txn', 'remove', 'add']);
    for (const [, { path }] of commit.slice(2)) expect(path).toMatch(/^e1\/part-/);
    const added = readCommit(logPath(to, 'test_executions', 1)).flatMap(([name, { path }]) =>
      name === 'add' ? [path] : [],
    );
    expect(added).toEqual([expect.stringMatching(/2026-11/), expect.stringMatching(/2026-11/)]);
  });

  test('a commit and the folders above it are synced to disk before the export continues', async () => {
    const { mirror } = await changedSince(DELTA);
    const [to, calls] = [folder(), [] as string[]];
    const watching = watched((operation, paths) => calls.push(`${operation} ${relative(to, String(paths.at(-1)))}`));
    await exportOf(mirror, to, ASSETS, watching);
    const linked = calls.indexOf('link assets/_delta_log/00000000000000000000.json');
    const next = calls.findIndex((call, i) => i > linked && call.startsWith('create'));
    expect(calls.slice(linked + 2, next)).toEqual(['syncFolder assets/_delta_log', 'syncFolder assets', 'syncFolder ']);
  });

  test('a commit says which program wrote it, when, and as of which instant', async () => {
    const { to } = await exported(ASSETS);
    const [[name, info] = []] = readCommit(logPath(to, 'assets', 0));
    expect(name).toBe('commitInfo');
    expect(info).toMatchObject({
      operation: 'WRITE',
      engineInfo: 'obsync',
      userMetadata: `the mirror as of ${manifestIn(to).instant}`,
    });
    expect(Math.abs(Number(info?.['timestamp']) - Date.now())).toBeLessThan(600_000);
  });

  test('new columns and descriptions make a new version, which keeps the table’s id and properties', async () => {
    const { mirror, to } = await exported(ASSETS);
    const before = readTable(join(to, 'assets'));
    const text = readFileSync(logPath(to, 'assets', 0), 'utf8');
    const older = text
      .replace('the id of the asset', 'an id')
      .replace('"configuration":{}', '"configuration":{"delta.logRetentionDuration":"interval 60 days"}');
    writeFileSync(logPath(to, 'assets', 0), older);
    await exportOf(mirror, to, ASSETS);
    const after = readTable(join(to, 'assets'));
    expect(after).toMatchObject({ version: 1, schema: before?.schema, files: before?.files });
    expect(after?.metaData).toEqual({
      ...before?.metaData,
      configuration: { 'delta.logRetentionDuration': 'interval 60 days' },
    });
  });

  test('without a manifest the log continues, with a higher number', async () => {
    const { mirror, to } = await changedSince(DELTA);
    rmSync(join(to, 'manifest.json'));
    await exportOf(mirror, to, DELTA);
    expect(versionsOf(to)).toEqual({ assets: 1, test_executions: 1, asset_lineage: 1 });
    expect(readTable(join(to, 'assets'))?.txns).toEqual(new Map([['obsync export', 2]]));
    expect((await readDelta(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });

  test('the log is removed when the next export lacks the table or has another format', async () => {
    const { mirror, to } = await exported({ tables: SOME });
    mkdirSync(join(to, 'mine', '_delta_log'), { recursive: true });
    await exportOf(mirror, to, ASSETS);
    expect(readdirSync(to).sort()).toEqual(['assets', 'manifest.json', 'manifest.json.lock', 'mine', 'views.sql']);
    await exportOf(mirror, to, { tables: ['assets'], keep: 0 });
    expect(readdirSync(join(to, 'assets'))).not.toContain('_delta_log');
    await exportOf(mirror, to, ASSETS);
    expect(versionsOf(to, ['assets'])).toEqual({ assets: 0 });
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test('a log that another program made over exported Parquet files stays', async () => {
    const { mirror, to } = await exported({ format: 'parquet', tables: ['assets'] });
    mkdirSync(join(to, 'assets', '_delta_log'));
    const commit = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}\n';
    writeFileSync(logPath(to, 'assets', 0), commit);
    await exportOf(mirror, to, { tables: ['assets'], keep: 0 });
    expect(readFileSync(logPath(to, 'assets', 0), 'utf8')).toBe(commit);
  });
});

describe('the checkpoint of a log', () => {
  let nineCommits: string;

  beforeAll(async () => {
    const mirror = makeMirror(fillAssets);
    nineCommits = folder();
    for (let n = 0; n < 9; n++) await commitAssets(mirror, nineCommits, n);
    mirror.connection.close();
  });

  /** A table with nine commits or more, each of which changes the files of one environment. */
  async function committed(commits: number) {
    const [mirror, to] = [openMirror(fillAssets), copyOf(nineCommits)];
    const commitNext = (n: number, files?: FileOperations) => commitAssets(mirror, to, n, files);
    for (let n = 9; n < commits; n++) await commitNext(n);
    return { mirror, to, table: join(to, 'assets'), commitNext };
  }

  const logOf = (table: string): string[] => readdirSync(join(table, '_delta_log')).sort();

  const checkpoints = (table: string): string[] => logOf(table).filter((name) => name.includes('checkpoint'));

  test('it is written after ten commits, and a reader needs nothing before it', async () => {
    const { mirror, to, table, commitNext } = await committed(9);
    expect(checkpoints(table)).toEqual([]);
    await commitNext(9);
    expect(checkpoints(table)).toEqual(['00000000000000000009.checkpoint.parquet', '_last_checkpoint']);
    await commitNext(10);
    const actions = await readCheckpoint(table, 9);
    const whole = readTable(table);
    expect(whole?.version).toBe(10);
    expect(readTable(table, { version: 9, actions })).toEqual(whole);
    const of = (kind: string) => actions.filter(([name]) => name === kind);
    expect([of('protocol').length, of('metaData').length, of('txn').length]).toEqual([1, 1, 1]);
    // The tombstones tell other programs which files they may delete.
    expect(of('remove')).toHaveLength(9);
    const last = JSON.parse(readFileSync(join(table, '_delta_log', '_last_checkpoint'), 'utf8'));
    const sizeInBytes = statSync(join(table, '_delta_log', '00000000000000000009.checkpoint.parquet')).size;
    expect(last).toEqual({ version: 9, size: actions.length, sizeInBytes, numOfAddFiles: 2 });
    for (let version = 0; version < 10; version++) rmSync(logPath(to, 'assets', version));
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
    await commitNext(11);
    expect(readTable(table, { version: 9, actions })?.version).toBe(11);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });

  test('it leaves out files that were removed more than a week ago', async () => {
    const { table, commitNext } = await committed(9);
    for (const name of logOf(table)) {
      const path = join(table, '_delta_log', name);
      const older = readFileSync(path, 'utf8').replaceAll(
        /"deletionTimestamp":\d+/g,
        '"deletionTimestamp":1700000000000',
      );
      writeFileSync(path, older);
    }
    await commitNext(9);
    expect((await readCheckpoint(table, 9)).filter(([name]) => name === 'remove')).toHaveLength(1);
  });

  test('commits older than a month are removed, except those that newer commits need', async () => {
    const { mirror, to, table, commitNext } = await committed(19);
    const old = new Date(Date.now() - 31 * 86_400_000);
    for (let version = 0; version <= 12; version++) utimesSync(logPath(to, 'assets', version), old, old);
    const starts = new Set<number>();
    const calls: string[] = [];
    const watching = watched((operation, paths) => {
      calls.push(`${operation} ${relative(table, String(paths.at(-1)))}`);
      const commits = logOf(table).flatMap((name) => (/^\d+\.json$/.test(name) ? Number.parseInt(name, 10) : []));
      const [oldest = 0] = commits;
      expect(commits).toEqual(commits.map((_, i) => oldest + i));
      starts.add(oldest);
    });
    await commitNext(19, watching);
    // While old commits are deleted, the remaining ones have no gap.
    expect([...starts]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // The checkpoint is durable under its name before they are deleted.
    const named = calls.indexOf('rename _delta_log/_last_checkpoint');
    const gone = calls.indexOf('remove _delta_log/00000000000000000000.json');
    expect(calls.slice(named, gone)).toContain('syncFolder _delta_log');
    // A reader can start from the checkpoint of version 9 at the earliest.
    expect(logOf(table).slice(0, 3)).toEqual([
      '00000000000000000009.checkpoint.parquet',
      '00000000000000000009.json',
      '00000000000000000010.json',
    ]);
    expect(checkpoints(table)).toHaveLength(3);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });

  test('no commit is removed if the user has set how long commits are kept', async () => {
    const { to, table, commitNext } = await committed(9);
    const old = new Date(0);
    const text = readFileSync(logPath(to, 'assets', 0), 'utf8');
    const set = '"configuration":{"delta.logRetentionDuration":"interval 60 days"}';
    writeFileSync(logPath(to, 'assets', 0), text.replace('"configuration":{}', set));
    for (let version = 0; version < 9; version++) utimesSync(logPath(to, 'assets', version), old, old);
    for (let n = 9; n < 20; n++) {
      await commitNext(n);
      utimesSync(logPath(to, 'assets', n), old, old);
    }
    expect(logOf(table)).toHaveLength(20 + 3);
  });

  test('failing to write it is a warning: the tables have their commits, and a later export writes it', async () => {
    const { mirror, to, table, commitNext } = await committed(9);
    const full = watched((operation, [path]) => {
      if (operation === 'create' && String(path).includes('checkpoint'))
        throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: operation });
    });
    expect((await commitNext(9, full)).warnings).toEqual([
      `the log of the Delta table ${table} cannot be shortened (ENOSPC): check the disk and its permissions; a later export does it`,
    ]);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
    expect(checkpoints(table)).toEqual([]);
    expect((await commitNext(10)).warnings).toEqual([]);
    expect(checkpoints(table)).toEqual(['00000000000000000010.checkpoint.parquet', '_last_checkpoint']);
  });

  test('the error names a damaged log', async () => {
    const { mirror, to, table } = await committed(10);
    writeFileSync(join(table, '_delta_log', '00000000000000000009.checkpoint.parquet'), 'PAR1');
    await expect(exportOf(mirror, to, ASSETS)).rejects.toThrow(
      /09\.checkpoint\.parquet is not a valid part of a Delta log: remove the folder _delta_log/,
    );
  });
});

describe('a Delta table that another program has changed', () => {
  const append = (to: string, version: number, ...actions: readonly object[]): void =>
    writeFileSync(logPath(to, 'assets', version), actions.map((action) => `${JSON.stringify(action)}\n`).join(''));

  test('it has the rows of the mirror again after the next export', async () => {
    const { mirror, to } = await exported(ASSETS);
    const [path = ''] = filesOf(to, 'assets').log;
    const { metaData } = readTable(join(to, 'assets')) ?? {};
    append(to, 1, { remove: { path: encodeURI(path), dataChange: true, deletionTimestamp: 0 } });
    expect(await verifyOf(mirror, to)).toMatchObject({
      differences: [
        { what: 'unlogged', table: 'assets', env_id: null, month: null, path: 'assets/_delta_log', reason: null },
      ],
    });
    append(to, 2, { commitInfo: { operation: 'OPTIMIZE' } }, { metaData: { ...metaData, schemaString: '{}' } });
    append(to, 3, { commitInfo: { operation: 'SET TBLPROPERTIES' } });
    const { files_written, notes } = await exportOf(mirror, to, ASSETS);
    const commits = 'unknown operation, version 1; OPTIMIZE, version 2';
    expect({ files_written, notes }).toEqual({
      files_written: 0,
      notes: [`another program has changed the Delta table assets (${commits}): it was put back as the mirror has it`],
    });
    expect((await exportOf(mirror, to, ASSETS)).notes).toEqual([]);
    expect(versionsOf(to, ['assets'])).toEqual({ assets: 4 });
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });

  test.each([
    [
      'asks for newer readers',
      { protocol: { minReaderVersion: 2, minWriterVersion: 2 } },
      /newer version.*Remove its folder _delta_log and export again/,
    ],
    ['asks for newer writers', { protocol: { minReaderVersion: 1, minWriterVersion: 3 } }, /newer version/],
    [
      'is append-only',
      {
        metaData: { id: 'x', schemaString: '{}', partitionColumns: [], configuration: { 'delta.appendOnly': 'true' } },
      },
      /is append-only/,
    ],
  ])('it is left alone if it %s', async (_, action, why) => {
    const { mirror, to } = await exported(ASSETS);
    append(to, 1, action);
    expect(await verifyOf(mirror, to)).toMatchObject({
      differences: [{ what: 'unlogged', reason: expect.stringMatching(why) }],
    });
    const before = filesUnder(to).sort();
    mirror.connection.exec(`update assets set name = 'z', mirrored_at = '${mirroredAt(3)}'`);
    await expect(exportOf(mirror, to, ASSETS)).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringMatching(why),
    });
    expect(filesUnder(to).sort()).toEqual(before);
    rmSync(join(to, 'assets', '_delta_log'), { recursive: true });
    await exportOf(mirror, to, ASSETS);
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test.each([
    ['is cut short', (to: string) => writeFileSync(logPath(to, 'assets', 0), '{"protocol":')],
    ['has a gap', (to: string) => renameSync(logPath(to, 'assets', 0), logPath(to, 'assets', 1))],
    ['has a commit without any action', (to: string) => writeFileSync(logPath(to, 'assets', 0), '\n')],
  ])('it is not written to if its log %s, and is recreated once the log was removed', async (_, damage) => {
    const { mirror, to } = await exported(ASSETS);
    damage(to);
    const why = /00000\.json is .*: remove the folder _delta_log that it belongs to, and export again/;
    expect(await verifyOf(mirror, to)).toMatchObject({
      differences: [{ what: 'unlogged', reason: expect.stringMatching(why) }],
    });
    await expect(exportOf(mirror, to, ASSETS)).rejects.toThrow(why);
    rmSync(join(to, 'assets', '_delta_log'), { recursive: true });
    await exportOf(mirror, to, ASSETS);
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test('obsync says what to do about a log that it cannot continue, in one line', async () => {
    const { mirror, to } = await exported(ASSETS);
    append(to, 1, { protocol: { minReaderVersion: 2, minWriterVersion: 2 } });
    const why = /newer version.*Remove its folder _delta_log and export again/;
    const { stdout } = await obsync(['verify', '--against', to, '--db', mirror.path]);
    expect(stdout).toMatch(why);
    expect(stdout).toContain('follow the advice on its line first');
    expect(await obsync(['export', '--to', to, '--db', mirror.path, '--format', 'delta'])).toEqual(refusal(why));
  });

  test.each([
    ['other tables', 'asset_lineage', ASSETS],
    ['another format', 'assets', { format: 'csv', tables: SOME, keep: 0 }],
  ] as const)('its damaged log does not block an export of %s, which removes it', async (_, table, choice) => {
    const { mirror, to } = await exported({ tables: SOME });
    writeFileSync(logPath(to, table, 0), '{"protocol":');
    await exportOf(mirror, to, choice);
    expect(filesUnder(to).filter((path) => path.startsWith(`${table}/_delta_log`))).toEqual([]);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });

  test('a damaged log that no export has made stays', async () => {
    const { mirror, to } = await exported({ format: 'parquet', tables: ['assets'] });
    mkdirSync(join(to, 'assets', '_delta_log'));
    append(to, 1, { protocol: { minReaderVersion: 1, minWriterVersion: 2 } });
    await exportOf(mirror, to, { tables: ['assets'], keep: 0 });
    expect(readdirSync(join(to, 'assets', '_delta_log'))).toHaveLength(1);
  });

  test.each(['protocol', 'metaData'])('its %s is restored by the next export if its log lacks it', async (lost) => {
    const { mirror, to } = await exported(ASSETS);
    const lines = readFileSync(logPath(to, 'assets', 0), 'utf8').split('\n');
    writeFileSync(logPath(to, 'assets', 0), lines.filter((line) => !line.startsWith(`{"${lost}"`)).join('\n'));
    expect(await verifyOf(mirror, to)).toMatchObject({ differences: [{ what: 'unlogged' }] });
    await exportOf(mirror, to, ASSETS);
    expect(readCommit(logPath(to, 'assets', 1)).map(([name]) => name)).toEqual(['commitInfo', 'txn', lost]);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });

  test('its file sizes are restored by the next export', async () => {
    const { mirror, to } = await exported(ASSETS);
    const text = readFileSync(logPath(to, 'assets', 0), 'utf8');
    writeFileSync(logPath(to, 'assets', 0), text.replace(/"size":\d+/, '"size":1'));
    expect(await verifyOf(mirror, to)).toMatchObject({ differences: [{ what: 'unlogged' }] });
    await exportOf(mirror, to, ASSETS);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test('its columns are restored by the next export, even if its metadata lost columns and properties', async () => {
    const { mirror, to } = await exported(ASSETS);
    append(to, 1, { metaData: { id: 'x', schemaString: '{}', partitionColumns: [] } });
    expect(await verifyOf(mirror, to)).toMatchObject({
      differences: [{ what: 'unlogged', reason: null }],
    });
    await exportOf(mirror, to, ASSETS);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });

  test('its name is restored by the next export', async () => {
    const { mirror, to } = await exported(ASSETS);
    const text = readFileSync(logPath(to, 'assets', 0), 'utf8');
    writeFileSync(logPath(to, 'assets', 0), text.replace('"name":"assets"', '"name":"mine"'));
    await exportOf(mirror, to, ASSETS);
    expect(readTable(join(to, 'assets'))?.metaData.name).toBe('assets');
  });

  test('a concurrent commit of another program stays, and the next export continues after it', async () => {
    const { mirror, to } = await changedSince(DELTA);
    const commit = '{"commitInfo":{"operation":"OPTIMIZE"}}\n';
    const racing = watched((operation, [, path]) => {
      if (operation === 'link' && String(path).includes('assets')) writeFileSync(String(path), commit);
    });
    await expect(exportOf(mirror, to, DELTA, racing)).rejects.toThrow(
      'another program wrote to the Delta table assets at the same time: export again',
    );
    expect(readFileSync(logPath(to, 'assets', 1), 'utf8')).toBe(commit);
    await exportOf(mirror, to, DELTA);
    expect(versionsOf(to)).toEqual({ assets: 2, test_executions: 1, asset_lineage: 1 });
    expect((await readDelta(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });
});
