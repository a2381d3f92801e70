import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DICTIONARY } from '../../schema/dictionary.ts';
import type { ExportReport } from '../../src/api/export-mirror.ts';
import { verifyExport } from '../../src/api/verify-export.ts';
import { type FileOperations, filesUnder } from '../../src/export/export-files.ts';
import { EXPORT_RELATIONS } from '../../src/export/relation.ts';
import { obsync, refusal } from '../cli/setup.ts';
import { readCheckpoint, readCommit, readDelta, readTable } from './delta-reader.ts';
import { DELTA, exported, filesOf, versionsOf } from './delta-setup.ts';
import { changedSince, killedAt, SOME, watched } from './faults.ts';
import { ALL_RELATIONS, exportOf, fillMirror, folder, manifestIn, mirroredAt, mirrorRows, TABLES } from './setup.ts';

const logPath = (to: string, table: string, version: number): string =>
  join(to, table, '_delta_log', `${String(version).padStart(20, '0')}.json`);

describe('a Delta table of an export', () => {
  test('has every row of its table or view, with the types of the columns', async () => {
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

  test('is there with its columns when it has no rows', async () => {
    const { to } = await exported({}, () => {});
    const table = readTable(join(to, 'assets'));
    expect(table).toMatchObject({ version: 0, files: new Map() });
    expect(table?.schema.map(({ name }) => name)).toContain('owners');
  });

  test('has names of columns that differ by more than their case', () => {
    for (const { columns } of EXPORT_RELATIONS)
      expect(new Set(columns.map(({ name }) => name.toLowerCase())).size).toBe(columns.length);
  });

  test('describes itself and its columns as the dictionary does', async () => {
    const { to } = await exported({ tables: ['assets'] });
    const { metaData, schema } = readTable(join(to, 'assets')) ?? {};
    const described = DICTIONARY.find(({ name }) => name === 'assets');
    expect(metaData).toMatchObject({ name: 'assets', description: described?.description });
    expect((schema ?? []).map(({ name, metadata }) => [name, metadata.comment])).toEqual(
      described?.columns.map(({ name, description }) => [name, description]),
    );
  });

  test('counts the rows of each file, and bounds its environment and its key or time', async () => {
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

  test('can be moved, because its paths are relative to it', async () => {
    const { mirror, to } = await exported({ tables: SOME });
    const moved = join(folder(), 'moved');
    renameSync(to, moved);
    expect((await readDelta(moved, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });
});

/** The fixture's times end in 456 microseconds. */
const nextMillisecond = (instant: string): string => new Date(Date.parse(`${instant.slice(0, 23)}Z`) + 1).toISOString();

describe('the log of a Delta table', () => {
  test('gets one commit of an export that changed the table, with the number of the export, and none of one that did not', async () => {
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

  test('removes and adds only the files of partitions that have changed', async () => {
    const { mirror, to } = await changedSince(DELTA);
    await exportOf(mirror, to, DELTA);
    const commit = readCommit(logPath(to, 'assets', 1));
    expect(commit.map(([name]) => name)).toEqual(['commitInfo', 'txn', 'remove', 'add']);
    for (const [, { path }] of commit.slice(2)) expect(path).toMatch(/^env_id=e1\/part-/);
    const added = readCommit(logPath(to, 'test_executions', 1)).flatMap(([name, { path }]) =>
      name === 'add' ? [path] : [],
    );
    expect(added).toEqual([expect.stringMatching(/month=2026-11/), expect.stringMatching(/month=2026-11/)]);
  });

  test('has its commit, and the folders above it, for good before the export goes on', async () => {
    const { mirror } = await changedSince(DELTA);
    const [to, calls] = [folder(), [] as string[]];
    const watching = watched((operation, paths) => calls.push(`${operation} ${relative(to, String(paths.at(-1)))}`));
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] }, watching);
    const linked = calls.indexOf('link assets/_delta_log/00000000000000000000.json');
    const next = calls.findIndex((call, i) => i > linked && call.startsWith('create'));
    expect(calls.slice(linked + 2, next)).toEqual(['syncFolder assets/_delta_log', 'syncFolder assets', 'syncFolder ']);
  });

  test('says which program wrote it, when, and as of which instant', async () => {
    const { to } = await exported({ tables: ['assets'] });
    const [[name, info] = []] = readCommit(logPath(to, 'assets', 0));
    expect(name).toBe('commitInfo');
    expect(info).toMatchObject({
      operation: 'WRITE',
      engineInfo: 'obsync',
      userMetadata: `the mirror as of ${manifestIn(to).instant}`,
    });
    expect(Math.abs(Number(info?.['timestamp']) - Date.now())).toBeLessThan(600_000);
  });

  test('takes new columns and descriptions in a new version, and keeps the id and the properties of the table', async () => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    const before = readTable(join(to, 'assets'));
    const text = readFileSync(logPath(to, 'assets', 0), 'utf8');
    const older = text
      .replace('the id of the asset', 'an id')
      .replace('"configuration":{}', '"configuration":{"delta.logRetentionDuration":"interval 60 days"}');
    writeFileSync(logPath(to, 'assets', 0), older);
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    const after = readTable(join(to, 'assets'));
    expect(after).toMatchObject({ version: 1, schema: before?.schema, files: before?.files });
    expect(after?.metaData).toEqual({
      ...before?.metaData,
      configuration: { 'delta.logRetentionDuration': 'interval 60 days' },
    });
  });

  test('goes on where the manifest was removed, with a greater number', async () => {
    const { mirror, to } = await changedSince(DELTA);
    rmSync(join(to, 'manifest.json'));
    await exportOf(mirror, to, DELTA);
    expect(versionsOf(to)).toEqual({ assets: 1, test_executions: 1, asset_lineage: 1 });
    expect(readTable(join(to, 'assets'))?.txns).toEqual(new Map([['obsync export', 2]]));
    expect((await readDelta(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });

  test('goes with the table when the next export has it no longer, or has another format', async () => {
    const { mirror, to } = await exported({ tables: SOME });
    mkdirSync(join(to, 'mine', '_delta_log'), { recursive: true });
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    expect(readdirSync(to).sort()).toEqual(['assets', 'manifest.json', 'manifest.json.lock', 'mine', 'views.sql']);
    await exportOf(mirror, to, { tables: ['assets'], keep: 0 });
    expect(readdirSync(join(to, 'assets'))).not.toContain('_delta_log');
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    expect(versionsOf(to, ['assets'])).toEqual({ assets: 0 });
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test('that others made over the Parquet files of an export stays', async () => {
    const { mirror, to } = await exported({ format: 'parquet', tables: ['assets'] });
    mkdirSync(join(to, 'assets', '_delta_log'));
    const commit = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}\n';
    writeFileSync(logPath(to, 'assets', 0), commit);
    await exportOf(mirror, to, { tables: ['assets'], keep: 0 });
    expect(readFileSync(logPath(to, 'assets', 0), 'utf8')).toBe(commit);
  });
});

describe('the checkpoint of a log', () => {
  /** A table with so many commits, each of which changes the files of one environment. */
  async function committed(commits: number) {
    const { mirror, to } = await exported({ tables: ['assets'] }, (file) => fillMirror(file, { assets: 10, runs: 0 }));
    const commitNext = (n: number, files?: FileOperations): Promise<ExportReport> => {
      mirror.connection.exec(`update assets set name = 'n${n}', mirrored_at = '${mirroredAt(n)}' where env_id = 'e1'`);
      return exportOf(mirror, to, { ...DELTA, tables: ['assets'] }, files);
    };
    for (let n = 1; n < commits; n++) await commitNext(n);
    return { mirror, to, table: join(to, 'assets'), commitNext };
  }

  const logOf = (table: string): string[] => readdirSync(join(table, '_delta_log')).sort();

  const checkpoints = (table: string): string[] => logOf(table).filter((name) => name.includes('checkpoint'));

  test('comes after ten commits, and is all that a reader needs of them', async () => {
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
    // The tombstones say which files another program may clear away.
    expect(of('remove')).toHaveLength(9);
    const last = JSON.parse(readFileSync(join(table, '_delta_log', '_last_checkpoint'), 'utf8'));
    const sizeInBytes = statSync(join(table, '_delta_log', '00000000000000000009.checkpoint.parquet')).size;
    expect(last).toEqual({ version: 9, size: actions.length, sizeInBytes, numOfAddFiles: 2 });
    for (let version = 0; version < 10; version++) rmSync(logPath(to, 'assets', version));
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
    await commitNext(11);
    expect(readTable(table, { version: 9, actions })?.version).toBe(11);
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
  });

  test('has no files that were removed more than a week ago', async () => {
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

  test('lets commits go that are older than a month, but never what a newer commit needs', async () => {
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
    // While they go, what stays has no gap.
    expect([...starts]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // The checkpoint has its name for good before they go.
    const named = calls.indexOf('rename _delta_log/_last_checkpoint');
    const gone = calls.indexOf('remove _delta_log/00000000000000000000.json');
    expect(calls.slice(named, gone)).toContain('syncFolder _delta_log');
    // The oldest that a reader can begin with is the checkpoint of version 9.
    expect(logOf(table).slice(0, 3)).toEqual([
      '00000000000000000009.checkpoint.parquet',
      '00000000000000000009.json',
      '00000000000000000010.json',
    ]);
    expect(checkpoints(table)).toHaveLength(3);
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
  });

  test('removes no commit of a table whose user has set how long they are kept', async () => {
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

  test('is made by a later export when the one that was to make it is killed; the table is whole at every moment', async () => {
    const { mirror, to, commitNext } = await committed(9);
    for (let n = 1; ; n++) {
      const copy = join(folder(), 'copy');
      cpSync(to, copy, { recursive: true });
      mirror.connection.exec(`update assets set name = 'n', mirrored_at = '${mirroredAt(100)}' where env_id = 'e1'`);
      const one = { ...DELTA, tables: ['assets'] };
      const ended = await exportOf(mirror, copy, one, killedAt(n)).catch(String);
      expect([8, 9]).toContain(readTable(join(copy, 'assets'))?.version);
      mirror.connection.exec(`update assets set name = 'm', mirrored_at = '${mirroredAt(101)}' where env_id = 'e1'`);
      await exportOf(mirror, copy, one);
      const [made = ''] = checkpoints(join(copy, 'assets'));
      const version = Number(made.slice(0, 20));
      const actions = await readCheckpoint(join(copy, 'assets'), version);
      expect(readTable(join(copy, 'assets'), { version, actions })).toEqual(readTable(join(copy, 'assets')));
      expect(filesUnder(copy).filter((path) => path.includes('.tmp'))).toEqual([]);
      if (typeof ended !== 'string') break;
    }
    await commitNext(102);
    expect(checkpoints(join(to, 'assets'))).toHaveLength(2);
  });

  test('that cannot be written is a warning: every table has its commit, and a later export writes it', async () => {
    const { mirror, to, table, commitNext } = await committed(9);
    const full = watched((operation, [path]) => {
      if (operation === 'create' && String(path).includes('checkpoint'))
        throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: operation });
    });
    expect((await commitNext(9, full)).warnings).toEqual([
      `the log of the Delta table ${table} cannot be shortened (ENOSPC): check the disk and its permissions; a later export does it`,
    ]);
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
    expect(checkpoints(table)).toEqual([]);
    expect((await commitNext(10)).warnings).toEqual([]);
    expect(checkpoints(table)).toEqual(['00000000000000000010.checkpoint.parquet', '_last_checkpoint']);
  });

  test('that is damaged is named', async () => {
    const { mirror, to, table } = await committed(10);
    writeFileSync(join(table, '_delta_log', '00000000000000000009.checkpoint.parquet'), 'PAR1');
    await expect(exportOf(mirror, to, { ...DELTA, tables: ['assets'] })).rejects.toThrow(
      /09\.checkpoint\.parquet is not as Delta has it: remove the folder _delta_log/,
    );
  });
});

describe('a Delta table that another program has changed', () => {
  const append = (to: string, version: number, ...actions: readonly object[]): void =>
    writeFileSync(logPath(to, 'assets', version), actions.map((action) => `${JSON.stringify(action)}\n`).join(''));

  test('has the rows of the mirror again after the next export', async () => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    const [path = ''] = filesOf(to, 'assets').log;
    append(to, 1, { remove: { path: encodeURI(path), dataChange: true, deletionTimestamp: 0 } });
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({
      differences: [
        { what: 'unlogged', table: 'assets', env_id: null, month: null, path: 'assets/_delta_log', reason: null },
      ],
    });
    expect(await exportOf(mirror, to, { ...DELTA, tables: ['assets'] })).toMatchObject({ files_written: 0 });
    expect(versionsOf(to, ['assets'])).toEqual({ assets: 2 });
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
  });

  test.each([
    ['asks for newer readers', { protocol: { minReaderVersion: 2, minWriterVersion: 2 } }, /newer version/],
    ['asks for newer writers', { protocol: { minReaderVersion: 1, minWriterVersion: 3 } }, /newer version/],
    [
      'may only be added to',
      {
        metaData: { id: 'x', schemaString: '{}', partitionColumns: [], configuration: { 'delta.appendOnly': 'true' } },
      },
      /only be added to/,
    ],
  ])('is left alone when it %s', async (_, action, why) => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    append(to, 1, action);
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({
      differences: [{ what: 'unlogged', reason: expect.stringMatching(why) }],
    });
    const before = filesUnder(to).sort();
    mirror.connection.exec(`update assets set name = 'z', mirrored_at = '${mirroredAt(3)}'`);
    const args = ['export', '--db', mirror.path, '--to', to, '--format', 'delta', '--table', 'assets'];
    expect(await obsync(args)).toEqual(refusal(why));
    expect(filesUnder(to).sort()).toEqual(before);
  });

  test.each([
    ['is cut short', (to: string) => writeFileSync(logPath(to, 'assets', 0), '{"protocol":')],
    ['has a gap', (to: string) => renameSync(logPath(to, 'assets', 0), logPath(to, 'assets', 1))],
    ['has a commit without any action', (to: string) => writeFileSync(logPath(to, 'assets', 0), '\n')],
  ])('is not written to when its log %s, and is made anew when it was removed', async (_, damage) => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    damage(to);
    const why = /00000\.json is .*: remove the folder _delta_log that it belongs to, and export again/;
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({
      differences: [{ what: 'unlogged', reason: expect.stringMatching(why) }],
    });
    const { stdout } = await obsync(['verify', '--against', to, '--db', mirror.path]);
    expect(stdout).toMatch(why);
    expect(stdout).toContain('do first what its line says');
    await expect(exportOf(mirror, to, { ...DELTA, tables: ['assets'] })).rejects.toThrow(why);
    rmSync(join(to, 'assets', '_delta_log'), { recursive: true });
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test.each([
    ['other tables', 'asset_lineage', { ...DELTA, tables: ['assets'] }],
    ['another format', 'assets', { format: 'csv', tables: SOME, keep: 0 }],
  ] as const)('is in the way of no export of %s when its log is damaged, and loses it', async (_, table, choice) => {
    const { mirror, to } = await exported({ tables: SOME });
    writeFileSync(logPath(to, table, 0), '{"protocol":');
    await exportOf(mirror, to, choice);
    expect(filesUnder(to).filter((path) => path.startsWith(`${table}/_delta_log`))).toEqual([]);
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
  });

  test('keeps a damaged log that no export has made', async () => {
    const { mirror, to } = await exported({ format: 'parquet', tables: ['assets'] });
    mkdirSync(join(to, 'assets', '_delta_log'));
    append(to, 1, { protocol: { minReaderVersion: 1, minWriterVersion: 2 } });
    await exportOf(mirror, to, { tables: ['assets'], keep: 0 });
    expect(readdirSync(join(to, 'assets', '_delta_log'))).toHaveLength(1);
  });

  test.each(['protocol', 'metaData'])('has its %s again after the next export, when its log lacks it', async (lost) => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    const lines = readFileSync(logPath(to, 'assets', 0), 'utf8').split('\n');
    writeFileSync(logPath(to, 'assets', 0), lines.filter((line) => !line.startsWith(`{"${lost}"`)).join('\n'));
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ differences: [{ what: 'unlogged' }] });
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    expect(readCommit(logPath(to, 'assets', 1)).map(([name]) => name)).toEqual(['commitInfo', 'txn', lost]);
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
  });

  test('has its own sizes of files again after the next export', async () => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    const text = readFileSync(logPath(to, 'assets', 0), 'utf8');
    writeFileSync(logPath(to, 'assets', 0), text.replace(/"size":\d+/, '"size":1'));
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ differences: [{ what: 'unlogged' }] });
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
    expect((await readDelta(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test('has its columns again after the next export, when its new metadata has neither columns nor properties', async () => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    append(to, 1, { metaData: { id: 'x', schemaString: '{}', partitionColumns: [] } });
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({
      differences: [{ what: 'unlogged', reason: null }],
    });
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
  });

  test('has its name again after the next export', async () => {
    const { mirror, to } = await exported({ tables: ['assets'] });
    const text = readFileSync(logPath(to, 'assets', 0), 'utf8');
    writeFileSync(logPath(to, 'assets', 0), text.replace('"name":"assets"', '"name":"mine"'));
    await exportOf(mirror, to, { ...DELTA, tables: ['assets'] });
    expect(readTable(join(to, 'assets'))?.metaData.name).toBe('assets');
  });

  test('at the same moment keeps its commit, and the next export goes on', async () => {
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
