import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { strToU8, unzipSync, zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
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
      'dashboards/postgresql/obsync.json',
      'dashboards/sqlite/obsync.json',
      'provisioning/dashboards/obsync.yaml',
      'provisioning/datasources/obsync.yaml',
    ],
  ],
  ['superset', ['obsync-postgresql.zip', 'obsync-sqlite.zip']],
  ['metabase', ['metabase.json', 'metabase.mjs']],
] as const;

/** Whether the path of the mirror stands in the files of a tool. */
const namesMirror = (tool: string) => tool === 'grafana' || tool === 'superset';

const NO_MIRROR = /^[^\n]*obsync\.db does not exist yet: [^\n]*\n$/;

const contents = (to: string) => filesUnder(to).map((path) => [path, readFileSync(join(to, path), 'base64')]);

describe('obsync bi', () => {
  test.each(TOOLS)('writes the files for %s, and the second time finds them as they were', async (tool, paths) => {
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

  test('says nothing of a mirror that exists', async () => {
    const db = mirrorFile();
    expect(await obsync(['bi', 'grafana', '--to', 'dash', '--db', db])).toMatchObject({ code: 0, stderr: '' });
  });

  test('says how to run the script for Metabase where it is', async () => {
    const { stdout } = await obsync(['bi', 'metabase', '--to', 'some/where/../there'], { cwd: inNewFolder('some') });
    expect(stdout).toContain('METABASE_DATABASE');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('node some/there/metabase.mjs');
  });

  const inNewFolder = (name: string): string => {
    const cwd = folder();
    mkdirSync(join(cwd, name));
    return cwd;
  };

  test('needs no mirror, and says where it will be', async () => {
    const cwd = folder();
    const { stderr } = await obsync(['bi', 'grafana', '--to', 'dash', '--db', 'later.db'], { cwd });
    expect(stderr).toMatch(/^[^\n]*later\.db does not exist yet[^\n]*\n$/);
    expect(readFileSync(join(cwd, 'dash/provisioning/datasources/obsync.yaml'), 'utf8')).toContain(`${cwd}/later.db`);
    expect(readdirSync(cwd)).toEqual(['dash']);
  });

  test('writes again what it has written, and leaves files of others beside it alone', async () => {
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
  ])('refuses for %s a file of someone else in the place of its own, and writes nothing', async (tool, name) => {
    const to = folder();
    writeFileSync(join(to, name), 'mine');
    expect(await obsync(['bi', tool, '--to', to])).toEqual(
      refusal(/is not a file of obsync: move it, or name another/),
    );
    expect(contents(to)).toEqual([[name, Buffer.from('mine').toString('base64')]]);
  });

  test.each(TOOLS)('refuses for %s a file of someone else that quotes the mark further below', async (tool, paths) => {
    const to = folder();
    const [path] = paths;
    const theirs = `${'Mine. '.repeat(60)}Not written by obsync: ${MARK}bi`;
    mkdirSync(dirname(join(to, path)), { recursive: true });
    writeFileSync(join(to, path), path.endsWith('.zip') ? zipSync({ mine: [strToU8(theirs), { level: 0 }] }) : theirs);
    const before = contents(to);
    expect(await obsync(['bi', tool, '--to', to])).toEqual(refusal(/is not a file of obsync/));
    expect(contents(to)).toEqual(before);
  });

  test.each(TOOLS)('knows for %s each of its own files that an earlier version has written', async (tool, paths) => {
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

  /** The same archive with one file less. */
  const earlierArchive = (written: Uint8Array) => {
    const [, ...files] = Object.entries(unzipSync(written));
    return zipSync(Object.fromEntries(files.map(([path, bytes]) => [path, [bytes, { comment: NOTE }]])));
  };

  test('refuses a symbolic link that leads nowhere in the place of a file', async () => {
    const to = folder();
    symlinkSync('nowhere.yml', join(to, 'obsync_sources.yml'));
    expect(await obsync(['bi', 'dbt', '--to', to])).toEqual(refusal(/is not a file of obsync/));
    expect(readlinkSync(join(to, 'obsync_sources.yml'))).toBe('nowhere.yml');
  });

  test('refuses a folder in the place of a file', async () => {
    const to = folder();
    mkdirSync(join(to, 'obsync_sources.yml'));
    expect(await obsync(['bi', 'dbt', '--to', to])).toEqual(refusal(/is not a file of obsync/));
  });

  test.each([
    [
      'a tool that it does not know',
      ['bi', 'looker', '--to', 'x'],
      /^obsync: there are no files for looker: choose one of dbt, semantic, /,
    ],
    [
      'a tool with a slip',
      ['bi', 'metabasse', '--to', 'x'],
      /there are no files for metabasse: did you mean metabase\?/,
    ],
    ['no tool', ['bi', '--to', 'x'], /no tool to write files for: choose one of dbt, /],
    ['no folder', ['bi', 'dbt'], /no folder to write to: name one with --to/],
    ['a folder nowhere', ['bi', 'dbt', '--to', 'no/where'], /\/no does not exist: make it, or name another/],
    ['a file in the place of the folder', ['bi', 'dbt', '--to', 'file'], /^obsync: file is a file: name a folder/],
  ])('refuses %s', async (_, args, line) => {
    const cwd = folder();
    writeFileSync(join(cwd, 'file'), '');
    expect(await obsync(args, { cwd })).toEqual(refusal(line));
    expect(readdirSync(cwd)).toEqual(['file']);
  });
});

test('what is written as YAML means the same to readers of YAML 1.1 and 1.2', () => {
  const value = {
    on: 'no',
    off: ['yes', 'null', '~', '2026-11-20', '12:30:45', '0b1', '1_000', '0o17', '%Y', 'a: b', ' # '],
  };
  for (const version of ['1.1', '1.2'] as const) expect(parse(yamlText(value), { version })).toEqual(value);
});

describe('the library', () => {
  test('writes the same files, and says which', async () => {
    const to = folder();
    expect(await writeBi({ tool: 'semantic', to })).toMatchObject({
      tool: 'semantic',
      to,
      files: [{ path: 'obsync.ossie.yaml', written: true }],
    });
  });

  test('refuses an option that it cannot take', async () => {
    const wrong = { tool: 'dbt', to: 3 } as unknown as Parameters<typeof writeBi>[0];
    await expect(writeBi(wrong)).rejects.toThrow(OptionError);
  });
});

describe('a folder that cannot be written', () => {
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

  test.each([1, 2])('is left as it was when the disk is full at file %i, with one line of what to do', (from) => {
    const to = folder();
    mkdirSync(join(to, 'a'));
    writeFileSync(join(to, 'a/one.yml'), 'Written by `obsync bi`: old');
    expect(() => writeFiles(to, made, failing('ENOSPC', from))).toThrow(
      expect.objectContaining({
        recovery: 'run',
        message: `${to} cannot be written (ENOSPC): check the disk and its permissions, and run it again`,
      }),
    );
    expect(filesUnder(to)).toEqual(['a/one.yml']);
    expect(readFileSync(join(to, 'a/one.yml'), 'utf8')).toBe('Written by `obsync bi`: old');
  });

  test('leaves no folder that it has made when the disk is full, and the folders that there were', () => {
    const to = join(folder(), 'new');
    expect(() => writeFiles(to, made, failing('ENOSPC', 2))).toThrow(expect.objectContaining({ recovery: 'run' }));
    expect(existsSync(to)).toBe(false);
    mkdirSync(join(to, 'theirs'), { recursive: true });
    expect(() => writeFiles(to, made, failing('ENOSPC', 2))).toThrow(expect.objectContaining({ recovery: 'run' }));
    expect(readdirSync(to)).toEqual(['theirs']);
  });

  test('is reported in one line when a file stands where a folder has to be', () => {
    const to = folder();
    writeFileSync(join(to, 'a'), 'mine');
    expect(() => writeFiles(to, made)).toThrow(expect.objectContaining({ recovery: 'run' }));
    expect(existsSync(join(to, 'two.yml'))).toBe(false);
  });
});
