import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import { latestTestExecutions, tests } from '../../schema/data-tests.ts';
import { folder, mirrorFile, obsync, refusal } from './setup.ts';

const AT = '2026-11-20T04:10:00.000000Z';
const own = { env_id: 'e1', mirrored_at: AT, synced_at: AT };

/** A mirror with one failing test. */
const failingMirror = () =>
  mirrorFile(({ db }) => {
    db.insert(environments).values({ id: 'e1', name: 'Production', mirrored_at: AT }).run();
    db.insert(assets)
      .values({ ...own, id: 'orders', name: 'orders', kind: 'table', source_type: 'dbt' })
      .run();
    db.insert(tests)
      .values({ ...own, id: 't1', name: 'not_null', asset_id: 'orders', disabled: 0 })
      .run();
    db.insert(latestTestExecutions)
      .values({
        ...own,
        id: 'x1',
        test_id: 't1',
        sub_test_unique_id: 's1',
        sub_type: 'not_null',
        status: 'FAIL',
        start_time: AT,
        duration_seconds: 1,
      })
      .run();
  });

describe('obsync report', () => {
  test('prints the number of failing tests, and exits 1 if --max-failing is exceeded', async () => {
    const [db, cwd] = [failingMirror(), folder()];
    const well = await obsync(['report', '--db', db, '--to', 'r.html', '--max-failing', '1'], { cwd });
    expect(well).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^r\.html: \d+ KB, 1 environment/),
    });
    expect(well.stdout).toMatch(/^1 failing test$/m);
    const bad = await obsync(['report', '--db', db, '--to', 'r.html', '--max-failing', '0', '--quiet'], { cwd });
    expect(bad).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^1 failing test, more than --max-failing allows$/m),
    });
    expect(readFileSync(join(cwd, 'r.html'), 'utf8')).toContain('<!doctype html>');
  });

  test.each([
    ['no --to', [], /--to|no file to write to/],
    ['a folder in --to', ['--to', 'taken'], /taken is not a file: name a file/],
    [
      'a folder that does not exist',
      ['--to', 'no/such/r.html'],
      /no\/such does not exist: make it, or name another file/,
    ],
    ['another program’s file', ['--to', 'mine.html'], /mine\.html was not written by obsync: move it/],
    ['another program’s file that quotes a report', ['--to', 'quotes.html'], /quotes\.html was not written by obsync/],
    ['a dangling symbolic link', ['--to', 'dangling.html'], /dangling\.html was not written by obsync/],
    ['--json besides a report on stdout', ['--to', '-', '--json'], /both write to stdout/],
    ['an empty number', ['--to', 'r.html', '--max-failing', ''], /--max-failing needs a value/],
    ['a negative number', ['--to', 'r.html', '--max-failing=-1'], /--max-failing needs a whole number/],
    ['an unknown environment', ['--to', 'r.html', '--env', 'nope'], /no environment nope in the mirror/],
  ])('refuses %s in one line, and writes nothing', async (_, args, line) => {
    const cwd = folder();
    mkdirSync(join(cwd, 'taken'));
    writeFileSync(join(cwd, 'mine.html'), '<p>mine</p>');
    writeFileSync(join(cwd, 'quotes.html'), `${'<p>mine</p>'.repeat(40)}Written by \`obsync report\``);
    symlinkSync('nowhere.html', join(cwd, 'dangling.html'));
    expect(await obsync(['report', '--db', failingMirror(), ...args], { cwd })).toEqual(refusal(line));
    expect(readFileSync(join(cwd, 'mine.html'), 'utf8')).toBe('<p>mine</p>');
    expect(readlinkSync(join(cwd, 'dangling.html'))).toBe('nowhere.html');
  });

  test('--to - writes the report to stdout, and its summary to stderr', async () => {
    const [db, cwd] = [failingMirror(), folder()];
    const { code, stdout, stderr } = await obsync(
      ['report', '--db', db, '--to', '-', '--max-failing', '0', '--quiet'],
      { cwd },
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/^<!doctype html>.*<\/html>\s*$/s);
    expect(stderr).toMatch(/^the report: \d+ KB, 1 environment .*\n1 failing test, more than --max-failing allows\n$/);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('refuses a mirror without listed environments, because nothing could fail in it', async () => {
    const db = mirrorFile();
    expect(await obsync(['report', '--db', db, '--to', 'r.html'])).toEqual(refusal(/lists none of these environments/));
  });

  test('writes to the target of a symbolic link', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'real.html'), '');
    symlinkSync('real.html', join(cwd, 'link.html'));
    expect(await obsync(['report', '--db', failingMirror(), '--to', 'link.html'], { cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, 'real.html'), 'utf8')).toContain('<!doctype html>');
  });
});
