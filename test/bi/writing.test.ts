import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { strToU8, unzipSync, zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { NAME_MIRROR } from '../../src/api/bi.ts';
import { MARK, NOTE, textFile, yamlText } from '../../src/bi/generated-file.ts';
import { writeFiles } from '../../src/bi/write-files.ts';
import { filesUnder, NODE_FILES } from '../../src/export/export-files.ts';
import { OptionError, writeBi } from '../../src/index.ts';
import { folder, mirrorFile, obsync, refusal } from '../cli/setup.ts';

const TOOLS = [
  ['dbt', ['obsync_sources.yml']],
  ['semantic', ['obsync.ossie.yaml']],
  [
    'grafana',
    [
      'dashboards/obsync.json',
      'provisioning/alerting/obsync.yaml',
      'provisioning/dashboards/obsync.yaml',
      'provisioning/datasources/obsync.yaml',
    ],
  ],
  ['superset', ['obsync-sqlite-assets.zip', 'obsync-sqlite.zip']],
  ['metabase', ['metabase.json', 'metabase.mjs']],
  ['datasette', ['metadata.json']],
  ['prometheus', ['alerts.yml']],
] as const;

/** Whether the files of a tool say where the mirror is. */
const namesMirror = (tool: string) => NAME_MIRROR.some((each) => each === tool);

const NO_MIRROR = /^[^\n]*obsync\.db does not exist yet: [^\n]*\n$/;

const contents = (to: string) => filesUnder(to).map((path) => [path, readFileSync(join(to, path), 'base64')]);

describe('obsync bi', () => {
  test.each(TOOLS)('writes the files for %s, and a second run finds them unchanged', async (tool, paths) => {
    const cwd = folder();
    const to = join(cwd, 'new');
    const first = await obsync(['bi', tool, '--to', to], { cwd });
    expect(first).toMatchObject({ code: 0, stderr: namesMirror(tool) ? expect.stringMatching(NO_MIRROR) : '' });
    for (const path of paths) expect(first.stdout).toContain(`  ${path}\n`);
    expect(filesUnder(to).sort()).toEqual(paths);
    const before = contents(to);
    const again = await obsync(['bi', '--json', tool, '--to', to], { cwd });
    const report = JSON.parse(again.stdout);
    expect(report).toMatchObject({ tool, to, files: paths.map(() => ({ written: false })) });
    expect(contents(to)).toEqual(before);
  });

  test('does not mention a mirror that exists', async () => {
    const db = mirrorFile();
    expect(await obsync(['bi', 'grafana', '--to', 'dash', '--db', db])).toMatchObject({ code: 0, stderr: '' });
  });

  test('says how to run the script for Metabase', async () => {
    const { stdout } = await obsync(['bi', 'metabase', '--to', 'some/where/../there'], { cwd: inNewFolder('some') });
    expect(stdout).toContain('METABASE_DATABASE');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('node some/there/metabase.mjs');
  });

  const inNewFolder = (name: string): string => {
    const cwd = folder();
    mkdirSync(join(cwd, name));
    return cwd;
  };

  test('needs no mirror, and says where the files expect it', async () => {
    const cwd = folder();
    const { stderr } = await obsync(['bi', 'grafana', '--to', 'dash', '--db', 'later.db'], { cwd });
    expect(stderr).toMatch(/^[^\n]*later\.db does not exist yet[^\n]*\n$/);
    expect(readFileSync(join(cwd, 'dash/provisioning/datasources/obsync.yaml'), 'utf8')).toContain(`${cwd}/later.db`);
    expect(readdirSync(cwd)).toEqual(['dash']);
  });

  test('overwrites its own files, and leaves other files in the folder alone', async () => {
    const to = folder();
    writeFileSync(join(to, 'models.yml'), 'mine');
    await obsync(['bi', 'dbt', '--to', to]);
    const path = join(to, 'obsync_sources.yml');
    const written = readFileSync(path, 'utf8');
    writeFileSync(path, `${written}\n# and more`);
    const { stdout } = await obsync(['bi', 'dbt', '--to', to, '--json']);
    expect(JSON.parse(stdout).files).toEqual([
      { path: 'obsync_sources.yml', bytes: Buffer.byteLength(written), written: true },
    ]);
    expect(readFileSync(path, 'utf8')).toBe(written);
    expect(readFileSync(join(to, 'models.yml'), 'utf8')).toBe('mine');
  });

  test.each([
    ['dbt', 'obsync_sources.yml'],
    ['superset', 'obsync-sqlite.zip'],
    ['metabase', 'metabase.mjs'],
  ])('refuses to overwrite another program’s file for %s, and writes nothing', async (tool, name) => {
    const to = folder();
    writeFileSync(join(to, name), 'mine');
    expect(await obsync(['bi', tool, '--to', to])).toEqual(
      refusal(/was not written by obsync: move it, or choose another/),
    );
    expect(contents(to)).toEqual([[name, Buffer.from('mine').toString('base64')]]);
  });

  test.each(TOOLS)('refuses to overwrite a file for %s that quotes the mark further down', async (tool, paths) => {
    const to = folder();
    const [path] = paths;
    const theirs = `${'Mine. '.repeat(60)}Not written by obsync: ${MARK}bi`;
    mkdirSync(dirname(join(to, path)), { recursive: true });
    writeFileSync(join(to, path), path.endsWith('.zip') ? zipSync({ mine: [strToU8(theirs), { level: 0 }] }) : theirs);
    const before = contents(to);
    expect(await obsync(['bi', tool, '--to', to])).toEqual(refusal(/was not written by obsync/));
    expect(contents(to)).toEqual(before);
  });

  test.each(TOOLS)('recognizes each file for %s that an earlier version wrote', async (tool, paths) => {
    const to = folder();
    await obsync(['bi', tool, '--to', to]);
    for (const path of paths) {
      const written = readFileSync(join(to, path));
      writeFileSync(join(to, path), tool === 'superset' ? earlierArchive(written) : `${written}\n`);
    }
    const { code, stdout } = await obsync(['bi', tool, '--to', to, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).files).toMatchObject(paths.map(() => ({ written: true })));
  });

  /** The same archive without one of its files. */
  const earlierArchive = (written: Uint8Array) => {
    const [, ...files] = Object.entries(unzipSync(written));
    return zipSync(Object.fromEntries(files.map(([path, bytes]) => [path, [bytes, { comment: NOTE }]])));
  };

  test('refuses to overwrite a dangling symbolic link', async () => {
    const to = folder();
    symlinkSync('nowhere.yml', join(to, 'obsync_sources.yml'));
    expect(await obsync(['bi', 'dbt', '--to', to])).toEqual(refusal(/was not written by obsync/));
    expect(readlinkSync(join(to, 'obsync_sources.yml'))).toBe('nowhere.yml');
  });

  test('refuses to replace a folder by a file', async () => {
    const to = folder();
    mkdirSync(join(to, 'obsync_sources.yml'));
    expect(await obsync(['bi', 'dbt', '--to', to])).toEqual(refusal(/was not written by obsync/));
  });

  test.each([
    [
      'an unknown tool',
      ['bi', 'looker', '--to', 'x'],
      /^obsync: there are no files for looker: choose one of dbt, semantic, /,
    ],
    ['a misspelt tool', ['bi', 'metabasse', '--to', 'x'], /there are no files for metabasse: did you mean metabase\?/],
    ['a missing tool', ['bi', '--to', 'x'], /no tool given: choose one of dbt, /],
    [
      '--semantic for another tool',
      ['bi', 'grafana', '--semantic', '--to', 'x'],
      /grafana has no semantic layer: --semantic is for dbt/,
    ],
    ['a missing folder option', ['bi', 'dbt'], /no folder to write to: name one with --to/],
    [
      'a folder whose parent does not exist',
      ['bi', 'dbt', '--to', 'no/where'],
      /\/no does not exist: make it, or name another/,
    ],
    ['a file instead of a folder', ['bi', 'dbt', '--to', 'file'], /^obsync: file is a file: name a folder/],
  ])('refuses %s', async (_, args, line) => {
    const cwd = folder();
    writeFileSync(join(cwd, 'file'), '');
    expect(await obsync(args, { cwd })).toEqual(refusal(line));
    expect(readdirSync(cwd)).toEqual(['file']);
  });
});

test('the YAML files mean the same to YAML 1.1 and 1.2 parsers', () => {
  const value = {
    on: 'no',
    off: ['yes', 'null', '~', '2026-11-20', '12:30:45', '0b1', '1_000', '0o17', '%Y', 'a: b', ' # '],
  };
  for (const version of ['1.1', '1.2'] as const) expect(parse(yamlText(value), { version })).toEqual(value);
});

describe('writeBi', () => {
  test('writes the same files as the command, and reports them', async () => {
    const to = folder();
    expect(await writeBi({ tool: 'semantic', to })).toMatchObject({
      tool: 'semantic',
      to,
      files: [{ path: 'obsync.ossie.yaml', written: true }],
    });
  });

  test.each([
    [{}, 'main'],
    [{ db: 'postgres://reader@db.example.com/warehouse?schema=quality' }, 'quality'],
  ])('the sources of the semantic model are in the schema of the mirror: %o', async (mirror, schema) => {
    const to = folder();
    await writeBi({ tool: 'semantic', to, ...mirror });
    const { datasets } = parse(readFileSync(join(to, 'obsync.ossie.yaml'), 'utf8'));
    for (const { name, source } of datasets) expect(source).toBe(`${schema}.${name}`);
    expect(datasets).not.toEqual([]);
  });

  test('refuses an invalid option', async () => {
    const wrong = { tool: 'dbt', to: 3 } as unknown as Parameters<typeof writeBi>[0];
    await expect(writeBi(wrong)).rejects.toThrow(OptionError);
  });
});

describe('obsync bi with a folder that cannot be written', () => {
  const made = [textFile('a/one.yml', 'new one'), textFile('two.yml', 'new two')];

  const failing = (code: string, from: number) => {
    let writes = 0;
    return {
      ...NODE_FILES,
      write(file: number, bytes: Uint8Array) {
        writes += 1;
        if (writes >= from) throw Object.assign(new Error(code), { code, syscall: 'write' });
        NODE_FILES.write(file, bytes);
      },
    };
  };

  test.each([1, 2])(
    'a disk that is full at file %i leaves the folder unchanged, and one line says what to do',
    (from) => {
      const to = folder();
      mkdirSync(join(to, 'a'));
      writeFileSync(join(to, 'a/one.yml'), 'Written by `obsync bi`: old');
      expect(() => writeFiles(to, made, failing('ENOSPC', from))).toThrow(
        expect.objectContaining({
          recovery: 'run',
          message: `${to} cannot be written (ENOSPC): check the disk and its permissions, then run the command again`,
        }),
      );
      expect(filesUnder(to)).toEqual(['a/one.yml']);
      expect(readFileSync(join(to, 'a/one.yml'), 'utf8')).toBe('Written by `obsync bi`: old');
    },
  );

  test('a full disk leaves no new folders and keeps the existing ones', () => {
    const to = join(folder(), 'new');
    expect(() => writeFiles(to, made, failing('ENOSPC', 2))).toThrow(expect.objectContaining({ recovery: 'run' }));
    expect(existsSync(to)).toBe(false);
    mkdirSync(join(to, 'theirs'), { recursive: true });
    expect(() => writeFiles(to, made, failing('ENOSPC', 2))).toThrow(expect.objectContaining({ recovery: 'run' }));
    expect(readdirSync(to)).toEqual(['theirs']);
  });

  test('what a killed run left is removed an hour later, even if nothing else has changed', () => {
    const to = folder();
    const killed = {
      ...NODE_FILES,
      rename() {
        throw new Error('killed');
      },
      remove() {},
    };
    expect(() => writeFiles(to, made, killed)).toThrow('killed');
    const left = filesUnder(to);
    expect(left).toHaveLength(2);
    writeFileSync(join(to, '.two.yml.mine'), 'mine');
    writeFiles(to, made);
    expect(filesUnder(to)).toEqual(expect.arrayContaining(left));
    for (const path of [...left, '.two.yml.mine']) utimesSync(join(to, path), 0, Date.now() / 1000 - 3601);
    writeFiles(to, made);
    expect(filesUnder(to).sort()).toEqual(['.two.yml.mine', 'a/one.yml', 'two.yml']);
  });

  test('a file in place of a subfolder is reported in one line', () => {
    const to = folder();
    writeFileSync(join(to, 'a'), 'mine');
    expect(() => writeFiles(to, made)).toThrow(expect.objectContaining({ recovery: 'run' }));
    expect(existsSync(join(to, 'two.yml'))).toBe(false);
  });
});
