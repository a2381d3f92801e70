import { describe, expect, test } from 'vitest';
import { LOCAL_CHECKS } from '../../src/api/doctor/local-checks.ts';
import type { FactError, LocalFacts } from '../../src/api/doctor/local-facts.ts';
import { SERVICE_CHECKS } from '../../src/api/doctor/service-checks.ts';
import type { ServiceFacts } from '../../src/api/doctor/service-facts.ts';
import type { DoctorCheck } from '../../src/api/doctor/verdict.ts';
import { NO_PROXIES } from '../../src/source/proxies.ts';

const MIB = 1024 ** 2;

const FILE: NonNullable<LocalFacts['file']> = {
  folder: '/data',
  isThere: true,
  unwritable: [],
  ownerId: 7,
  userId: 7,
  isNetworkKnown: true,
  networkFs: null,
  allowNetworkFs: false,
  freeBytes: 900 * MIB,
  bytes: 51 * MIB,
};

type JudgedFacts = Omit<LocalFacts, 'store' | 'token' | 'service'> & {
  readonly token: { error: FactError } | { value: { tokenFrom: string } };
  readonly service: { error: FactError } | { value: { baseUrl: string; proxies: typeof NO_PROXIES } };
};

const LOCAL: JudgedFacts = {
  versions: { obsync: '0.1.0', node: '24.1.0', sqlite: '3.54.1' },
  token: { value: { tokenFrom: 'the token file t' } },
  openTokenFile: null,
  service: { value: { baseUrl: 'https://api.example.com', proxies: NO_PROXIES } },
  mirror: { value: { display: 'm.db', found: Date.UTC(2026, 10, 5), last: Date.UTC(2026, 10, 5) } },
  file: FILE,
  database: null,
};

const DATABASE = {
  version: '18.4',
  encoding: 'UTF8',
  user: 'ann',
  schema: 'shop',
  isSchemaThere: false,
  mayCreate: true,
};

const SERVICE: ServiceFacts = {
  host: 'api.example.com',
  error: null,
  seconds: 0.24,
  requests: 4,
  environments: [{ id: 'e1', name: 'Production', cron: null }],
  choiceError: null,
  lists: ['assets', 'tests', 'asset_health_scores'].map((stream) => ({ stream, error: null })),
  environment: 'Production',
  aheadSeconds: -2.4,
  quota: { limit: 100, remaining: 90, resetSeconds: 40, windowSeconds: 60 },
  unshared: null,
};

function lines<Facts>(checks: readonly DoctorCheck<Facts>[], facts: Facts): Record<string, string> {
  return Object.fromEntries(
    checks.flatMap(([name, verdict]) => {
      const found = verdict(facts);
      return found === null ? [] : [[name, `${found.status}: ${found.text}. ${found.advice ?? ''}`.trim()]];
    }),
  );
}

const local = (facts: Partial<JudgedFacts>) => lines(LOCAL_CHECKS, { ...LOCAL, ...facts } as LocalFacts);
const file = (facts: Partial<typeof FILE>) => local({ file: { ...FILE, ...facts } });
const database = (facts: Partial<typeof DATABASE>) =>
  local({ file: null, database: { value: { ...DATABASE, ...facts } } })['database'];
const service = (facts: Partial<ServiceFacts>) => lines(SERVICE_CHECKS, { ...SERVICE, ...facts });
const failed = (recovery: 'token' | 'quota' | 'run' | 'usage' | 'forbidden' | 'not-live', message = 'why') => ({
  recovery,
  message,
});

describe('the checks of this machine', () => {
  test('they are ok if everything is', () => {
    expect(local({})).toMatchInlineSnapshot(`
      {
        "address": "ok: https://api.example.com.",
        "disk": "ok: 900 MiB free, and the mirror takes 51 MiB.",
        "file system": "ok: local.",
        "mirror": "ok: m.db, with the tables of 2026-11-05, which are up to date.",
        "permissions": "ok: the mirror, its -wal and its -shm can be written in /data.",
        "proxy": "ok: none: the connection is direct.",
        "token": "ok: in the token file t.",
        "version": "ok: obsync 0.1.0 on Node 24.1.0 with SQLite 3.54.1.",
      }
    `);
  });

  test.each<[string, string, Record<string, string>, RegExp]>([
    [
      'a missing token',
      'token',
      local({ token: { error: failed('usage', 'no access token') } }),
      /^problem: no access token/,
    ],
    [
      'a token file that everyone can read',
      'token',
      local({ openTokenFile: 't' }),
      /^warning: every user .* can read the token file t\. Run chmod 600 t\.$/,
    ],
    [
      'a missing base URL',
      'address',
      local({ service: { error: failed('usage', 'no base URL') } }),
      /^problem: no base URL/,
    ],
    [
      'a proxy',
      'proxy',
      local({
        service: {
          value: {
            baseUrl: 'https://api.example.com',
            proxies: { httpProxy: '', httpsProxy: 'http://ann:secret@proxy:3128', noProxy: 'a,b' },
          },
        },
      }),
      /^ok: proxy:3128, except for the hosts in NO_PROXY \(a,b\)\.$/,
    ],
    [
      'a missing mirror',
      'mirror',
      local({ mirror: { value: { display: 'm.db', found: 0, last: 9 } } }),
      /^ok: m\.db does not exist yet: the first sync creates it/,
    ],
    [
      'a mirror of an older obsync',
      'mirror',
      local({ mirror: { value: { display: 'm.db', found: 5, last: 9 } } }),
      /^warning: .*of an older obsync\. The next sync, or `obsync migrate`/,
    ],
    [
      'a mirror that cannot be used',
      'mirror',
      local({ mirror: { error: failed('run', 'is damaged') } }),
      /^problem: is damaged/,
    ],
    ['a missing folder', 'permissions', file({ isThere: false }), /^problem: the folder \/data does not exist/],
    [
      'files that may not be written',
      'permissions',
      file({ unwritable: ['/data', '/data/m.db-wal'] }),
      /^problem: this user may not write \/data, \/data\/m\.db-wal/,
    ],
    [
      'a mirror of another user',
      'permissions',
      file({ userId: 0 }),
      /^warning: the mirror belongs to user 7, and this is user 0/,
    ],
    ['a network file system', 'file system', file({ networkFs: 'nfs' }), /^problem: a network file system \(nfs\)/],
    [
      'a network file system that is allowed',
      'file system',
      file({ networkFs: 'nfs', allowNetworkFs: true }),
      /^warning: .*allowed by --allow-network-fs/,
    ],
    ['a system that does not say', 'file system', file({ isNetworkKnown: false }), /^skipped: only Linux says/],
    [
      'less room than the mirror takes',
      'disk',
      file({ freeBytes: 600 * MIB, bytes: 700 * MIB }),
      /^warning: 600 MiB free/,
    ],
    ['a full disk', 'disk', file({ freeBytes: 63 * MIB, bytes: 0 }), /^problem: 63 MiB free\. Make room\.$/],
  ])('%s is found by the check of %s', (_, check, found, expected) => {
    expect(found[check]).toMatch(expected);
  });

  test.each([
    [{}, /^ok: PostgreSQL 18\.4, UTF8, as ann: the schema shop can be created/],
    [{ isSchemaThere: true }, /^ok: .*the schema shop is there/],
    [{ mayCreate: false }, /^problem: .*may not create the schema shop\. .* create schema "shop" authorization "ann"$/],
    [{ mayCreate: false, isSchemaThere: true }, /^problem: .*tables in the schema shop\. .* owner to "ann"$/],
  ])('a database with %o is judged by what its user may create', (facts, expected) => {
    expect(database(facts)).toMatch(expected);
  });
});

describe('the checks of the service', () => {
  test('they are ok if everything is', () => {
    expect(service({})).toMatchInlineSnapshot(`
      {
        "clock": "ok: this machine's clock is 2 s behind the service's.",
        "environments": "ok: Production.",
        "quota": "ok: 90 of 100 requests left for 40 s.",
        "scopes": "ok: assets, tests, asset_health_scores of Production can be read.",
        "service": "ok: api.example.com accepted the token, after 0.2 s.",
      }
    `);
  });

  test('they are one skipped line if the service was not asked', () => {
    expect(lines(SERVICE_CHECKS, null)).toEqual({
      service: 'skipped: fix the problems above first.',
    });
  });

  test('only the check `service` is a problem if the service does not list its environments', () => {
    const found = service({ error: failed('token', 'refused'), environments: [], quota: null, aheadSeconds: null });
    expect(found['service']).toBe('problem: refused.');
    for (const name of ['environments', 'scopes', 'clock', 'quota']) expect(found[name]).toMatch(/^skipped: unknown/);
  });

  test('a quota that is used up is a warning, and no problem of the service', () => {
    const found = service({ error: failed('quota', 'used up: run again later') });
    expect(found['quota']).toMatch(/^warning: used up: run again later/);
    expect(found['service']).toMatch(/^skipped: api\.example\.com: the quota is used up/);
  });

  test.each<[string, string, Partial<ServiceFacts>, RegExp]>([
    ['no environment', 'environments', { choiceError: 'the token sees none' }, /^problem: the token sees none/],
    [
      'a list that the token may not read',
      'scopes',
      { lists: [{ stream: 'tests', error: failed('forbidden') }] },
      /^problem: the token may not read tests of Production\. Create a token/,
    ],
    [
      'a list that is not live',
      'scopes',
      { lists: [{ stream: 'tests', error: failed('not-live') }] },
      /^warning: not live at the service \(404\): tests/,
    ],
    ['a list that fails', 'scopes', { lists: [{ stream: 'tests', error: failed('run') }] }, /^warning: why/],
    ['a clock that is behind', 'clock', { aheadSeconds: -61 }, /^warning: this machine's clock is 61 s behind the/],
    ['a clock that is ahead', 'clock', { aheadSeconds: 3600 }, /^warning: this machine's clock is 3600 s ahead of the/],
    ['a clock a minute off', 'clock', { aheadSeconds: 60 }, /^ok/],
    ['answers without Date', 'clock', { aheadSeconds: null }, /^warning: the answers have no Date/],
    ['a quota without a statement', 'quota', { quota: null }, /^ok: the service states none/],
    [
      'few requests left',
      'quota',
      { quota: { limit: null, remaining: 19, resetSeconds: 5, windowSeconds: 60 } },
      /^warning: 19 requests left for 5 s/,
    ],
    ['a quota that is not shared', 'quota', { unshared: 'no folder' }, /^warning: each process .*: no folder/],
  ])('%s is found by the check of %s', (_, check, facts, expected) => {
    expect(service(facts)[check]).toMatch(expected);
  });
});
