import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { takeLock } from '../../state/lock.ts';
import { testFolder } from '../support/test-folder.ts';

let path: string;
beforeEach(() => {
  path = join(testFolder(), 'obsync.db');
});

const locked = expect.objectContaining({
  recovery: 'locked',
  message: expect.stringMatching(/^another sync( \(process \d+\))? is using .*obsync\.db: [^\n]+$/),
});

describe('takeLock (R26)', () => {
  test('a second writer is refused at once until the first has released the lock', () => {
    const lock = takeLock(path);
    expect(() => takeLock(path)).toThrow(locked);
    lock.release();
    takeLock(path).release();
  });

  test('a lock does not affect other mirrors', () => {
    const lock = takeLock(path);
    takeLock(`${path}2`).release();
    lock.release();
  });

  test.each([
    ['a symbolic link', 'current.db', (): void => symlinkSync('obsync.db', join(dirname(path), 'current.db'))],
    ['a folder that is a symbolic link', 'other/obsync.db', (): void => symlinkSync('.', join(dirname(path), 'other'))],
    ['a detour', '../here/obsync.db', (): void => {}],
  ])('the lock belongs to the file itself, by any name: %s', (_, other, make) => {
    path = join(dirname(path), 'here', 'obsync.db');
    mkdirSync(dirname(path));
    make();
    for (const isMade of [false, true]) {
      if (isMade) writeFileSync(path, '');
      const lock = takeLock(path);
      expect(() => takeLock(join(dirname(path), other))).toThrow(expect.objectContaining({ recovery: 'locked' }));
      lock.release();
      takeLock(join(dirname(path), other)).release();
    }
    expect(readdirSync(dirname(path)).filter((name) => name.endsWith('.lock'))).toEqual(['obsync.db.lock']);
  });

  test('a file with several hard links is refused, and no lock file is created', () => {
    writeFileSync(path, '');
    linkSync(path, `${path}.2`);
    const message = expect.stringMatching(/^.*obsync\.db is one of 2 hard links to the same file, [^\n]+$/);
    expect(() => takeLock(path)).toThrow(expect.objectContaining({ recovery: 'usage', message }));
    expect(readdirSync(dirname(path))).toEqual(['obsync.db', 'obsync.db.2']);
  });

  test('the lock ends when its process is killed', async () => {
    const program = `
      const { takeLock } = await import(${JSON.stringify(new URL('../../state/lock.ts', import.meta.url).href)});
      takeLock(${JSON.stringify(path)});
      process.stdout.write('taken');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    expect(() => takeLock(path)).toThrow(locked);
    child.kill('SIGKILL');
    await once(child, 'exit');
    takeLock(path).release();
  });

  test.each([
    [
      'its folder does not exist',
      () => {
        path = join(path, 'none', 'obsync.db');
      },
    ],
    ['a folder is in its place', () => mkdirSync(`${path}.lock`)],
    ['another file is in its place', () => writeFileSync(`${path}.lock`, 'some text '.repeat(200))],
  ])('if the lock cannot be taken, one line says so: %s', (_, make) => {
    const message = expect.stringMatching(/^.*obsync\.db\.lock cannot be locked: [^\n]+$/);
    make();
    expect(() => takeLock(path)).toThrow(expect.objectContaining({ recovery: 'usage', message }));
  });
});
