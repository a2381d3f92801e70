import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mirror as mirrorTable } from '../../schema/sync.ts';
import { takeLock } from '../../state/lock.ts';
import { type ScriptedStep, startApiServer } from '../support/api-server.ts';
import { folder, mirrorFile, obsync, refusal, TOKEN } from './setup.ts';

const env = { OBSYNC_TOKEN: TOKEN };
const ERROR_401 = { status: 401, body: { error: { code: 'unauthenticated', message: `no such token: ${TOKEN}` } } };

async function server(...steps: ScriptedStep[]) {
  const api = await startApiServer(...steps);
  onTestFinished(() => api.close());
  return api;
}

/** A mirror that belongs to this server. */
const mirrorOf = (url: string) => mirrorFile(({ db }) => db.update(mirrorTable).set({ base_url: url }).run());

describe('sync', () => {
  it('ends 3 when the token is refused, asks once, makes no mirror and shows the token to nobody', async () => {
    const api = await server(ERROR_401);
    const cwd = folder();
    const { code, stdout, stderr } = await obsync(['sync', '--base-url', api.url], { cwd, env });
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/^obsync: .*401.*\n$/);
    expect(stderr).not.toContain(TOKEN);
    expect(api.requests).toHaveLength(1);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('ends 4 before any request while another process holds the mirror', async () => {
    const api = await server(ERROR_401);
    const db = mirrorOf(api.url);
    const lock = takeLock(db);
    const { code, stderr } = await obsync(['sync', '--base-url', api.url, '--db', db], { env });
    lock.release();
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: `obsync: another sync holds ${db}: wait for it to end, or stop it\n`,
    });
    expect(api.requests).toHaveLength(0);
  });

  it('ends 2 before any request when the mirror belongs to another base URL', async () => {
    const api = await server(ERROR_401);
    const db = mirrorFile();
    const ended = await obsync(['sync', '--base-url', api.url, '--db', db], { env });
    expect(ended).toEqual(refusal(/belongs to https:\/\/api\.example\.com.*name another file with --db/));
    expect(api.requests).toHaveLength(0);
  });

  it('ends 2 when an environment asked for is not listed, and makes no mirror', async () => {
    const api = await server({ body: [{ id: 'e1', name: 'Production' }] });
    const cwd = folder();
    const ended = await obsync(['sync', '--base-url', api.url, '--env', 'Nope'], { cwd, env });
    expect(ended).toEqual(refusal(/no environment Nope: the token sees Production/));
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('ends 2 when the folder of the mirror is missing, and does not make it', async () => {
    const api = await server({ body: [{ id: 'e1', name: 'Production' }] });
    const db = join(folder(), 'no', 'm.db');
    expect(await obsync(['sync', '--base-url', api.url, '--db', db], { env })).toEqual(refusal(/folder/));
    expect(existsSync(dirname(db))).toBe(false);
  });

  it.each([
    ['info', /Production assets: done.*run 1 is done/s],
    ['warn', /^$/],
  ])('without a terminal, says of a run that went well at --log-level %s: %s', async (level, said) => {
    const api = await server({ body: [{ id: 'e1', name: 'Production' }] }, { body: { items: [], has_more: false } });
    const args = ['sync', '--base-url', api.url, '--stream', 'assets', '--log-level', level];
    const { code, stderr } = await obsync(args, { cwd: folder(), env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(said) });
  });

  it('prints one JSON document on stdout with --json, when it fails as well', async () => {
    const api = await server(ERROR_401);
    const { stdout } = await obsync(['sync', '--base-url', api.url, '--json'], { cwd: folder(), env });
    expect(JSON.parse(stdout)).toMatchObject({ run: null, status: 'refused', recovery: 'token', requests: 1 });
  });
});
