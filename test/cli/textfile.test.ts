import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EMPTY_PAGE, type ScriptedStep } from '../support/api-server.ts';
import { apiServer, folder, mirrorFile, obsync, refusal, TOKEN } from './setup.ts';

const LISTED = { body: [{ id: 'e1', name: 'Production', cron: '0 6 * * *' }] };
const UNAUTHENTICATED = { status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } };
const UNNAMED = { body: { ...EMPTY_PAGE, items: [{ id: 'a' }] } };

async function syncing(to: string, { db = 'm.db', args = [] as string[], cwd = folder() }, ...steps: ScriptedStep[]) {
  const api = await apiServer(...steps);
  const file = db === 'm.db' ? db : mirrorFile(undefined, api.url);
  const sync = ['sync', '--base-url', api.url, '--db', file, '--stream', 'assets', '--textfile', to, ...args];
  return { api, cwd, ended: await obsync(sync, { cwd, env: { OBSYNC_TOKEN: TOKEN } }) };
}

const statusIn = (file: string) =>
  /^obsync_last_run_status\{status="(\w+)"\} 1$/m.exec(readFileSync(file, 'utf8'))?.[1];

describe('obsync sync --textfile', () => {
  test.each<[string, number, { db?: string; args?: string[] }, ScriptedStep[]]>([
    ['done', 0, {}, [LISTED, { body: EMPTY_PAGE }]],
    ['problems', 1, {}, [LISTED, UNNAMED]],
    [
      'stopped',
      5,
      { args: ['--max-requests', '2'] },
      [LISTED, { body: { ...EMPTY_PAGE, has_more: true, next_cursor: 'c' } }],
    ],
    ['refused', 3, { db: 'existing' }, [UNAUTHENTICATED]],
  ])('after a run that ended %s, the file says so', async (status, code, options, steps) => {
    const to = join(folder(), 'obsync.prom');
    const { ended } = await syncing(to, options, ...steps);
    expect(ended.code).toBe(code);
    expect(statusIn(to)).toBe(status);
  });

  test('a first run that got no answer reports an infinitely old mirror, and creates none', async () => {
    const cwd = folder();
    await syncing('obsync.prom', { cwd }, UNAUTHENTICATED);
    expect(readFileSync(join(cwd, 'obsync.prom'), 'utf8')).toMatch(/^obsync_mirror_age_seconds \+Inf$/m);
    expect(readdirSync(cwd)).toEqual(['obsync.prom']);
  });

  test('every user may read the file whatever the umask, and nothing else is left beside it', async () => {
    const to = join(folder(), 'obsync.prom');
    const umask = process.umask(0o077);
    onTestFinished(() => void process.umask(umask));
    await syncing(to, {}, LISTED, { body: EMPTY_PAGE });
    expect(statSync(to).mode & 0o777).toBe(0o644);
    expect(readdirSync(join(to, '..'))).toEqual(['obsync.prom']);
  });

  test.each<[string, (cwd: string) => string, RegExp]>([
    [
      'a folder that does not exist',
      (cwd) => join(cwd, 'no/obsync.prom'),
      /\/no does not exist: make it, or name another file with --textfile/,
    ],
    ['a folder in its place', folderInPlace, /is a folder: name a file with --textfile/],
    [
      'a file that node_exporter would not read, such as a mirror',
      (cwd) => join(cwd, 'obsync.db'),
      /obsync\.db does not end in \.prom, and node_exporter reads only files that do/,
    ],
  ])('%s is refused before any request', async (_, path, line) => {
    const { api, ended } = await syncing(path(folder()), {}, LISTED);
    expect(ended).toEqual(refusal(line));
    expect(api.requests).toEqual([]);
  });

  test('a folder that is removed during the run makes it exit 1, and its rows stay', async () => {
    const to = join(folder(), 'metrics');
    mkdirSync(to);
    const { ended, cwd } = await syncing(join(to, 'obsync.prom'), {}, LISTED, () => {
      rmSync(to, { recursive: true });
      return { body: EMPTY_PAGE };
    });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^obsync: \/.*\/metrics\/obsync\.prom was not written: check it and its folder \(ENOENT\)/m,
    );
    const status = await obsync(['status', '--json'], { cwd, env: { OBSYNC_DB: 'm.db' } });
    expect(JSON.parse(status.stdout).last_run.status).toBe('done');
  });
});

function folderInPlace(cwd: string): string {
  const path = join(cwd, 'folder.prom');
  mkdirSync(path);
  return path;
}
