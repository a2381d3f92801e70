import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { takeLock } from '../../state/lock.ts';

let path: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-'));
  path = join(folder, 'obsync.db');
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

const locked = expect.objectContaining({
  recovery: 'locked',
  message: expect.stringMatching(/^another sync holds .*obsync\.db: [^\n]+$/),
});

describe('one writer per mirror (R26)', () => {
  test('a second one is refused at once, until the first is done', () => {
    const lock = takeLock(path);
    expect(() => takeLock(path)).toThrow(locked);
    lock.release();
    takeLock(path).release();
  });

  test('writers of other mirrors do not mind', () => {
    const lock = takeLock(path);
    takeLock(`${path}2`).release();
    lock.release();
  });

  test('the lock dies with its process, however that ends', async () => {
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
  ])('where no lock can be had, one line says so: %s', (_, make) => {
    const message = expect.stringMatching(/^.*obsync\.db\.lock cannot be locked: [^\n]+$/);
    make();
    expect(() => takeLock(path)).toThrow(expect.objectContaining({ recovery: 'usage', message }));
  });
});
