import { getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import { runOnce } from '../../src/api/session.ts';
import { verifyOnce } from '../../src/api/verify-mirror.ts';
import { openLocked } from '../../src/destination/sqlite/open-locked.ts';
import {
  openMirror,
  plan,
  type QueryOptions,
  query,
  type ScheduleEvent,
  type ScheduleOptions,
  type ServeOptions,
  type StatusReport,
  type StreamName,
  SyncError,
  type SyncEvent,
  type SyncOptions,
  schedule,
  serve,
  status,
  sync,
  type VerifyEvent,
  type VerifyOptions,
  type VerifyReport,
  verify,
} from '../../src/index.ts';
import type { LIBRARY_OPTIONS } from '../../src/settings/check-options.ts';
import type { OPTIONS } from '../../src/settings/option-table.ts';
import { clock, syncSettings, watchOf } from '../../src/settings/sync-settings.ts';
import { takeLock } from '../../state/lock.ts';
import { folder } from '../cli/setup.ts';
import { HOUR } from '../model/world.ts';
import { servedWorld } from '../support/served-world.ts';

/** Serves two environments, and picks the path of their mirror. */
async function setUp() {
  const { world, server } = await servedWorld(['e1', 'e2']);
  return { world, server, options: { baseUrl: server.url, token: 'the-token', db: join(folder(), 'm.db') } };
}

/** Like `setUp`, with a mirror synced in this thread. */
async function setUpSynced() {
  const made = await setUp();
  expect((await runOnce(syncSettings(made.options), watchOf({}))).status).toBe('done');
  return made;
}

const refused = (message: RegExp, more: object = {}) => ({
  recovery: 'usage',
  message: expect.stringMatching(message),
  ...more,
});

describe('the library', () => {
  test('it syncs, forecasts, verifies and reports with plain options, and sends events', async () => {
    const { world, options } = await setUp();
    const events: SyncEvent[] = [];
    const run = await sync({ ...options, onProgress: (event) => events.push(event) });
    expect(run).toMatchObject({ status: 'done', error: null, recovery: null });
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['request', 'environments', 'stream', 'ended']));
    world.advance(3 * HOUR);
    const foretold = await plan(options);
    expect(foretold).toMatchObject({ mirror_exists: true, page_size: 2000, max_requests: null });
    const told: VerifyEvent[] = [];
    const report = await verify({ ...options, onProgress: (event) => told.push(event) });
    expect(report).toMatchObject({ equal: true, depth: 'rows' });
    expect(told.map(({ type }) => type)).toContain('progress');
    expect(await status(options)).toMatchObject({ base_url: options.baseUrl, last_run: { run: 1, status: 'done' } });
    expect(await sync(options)).toMatchObject({ status: 'done', requests: foretold.requests });
  });

  test.each<[string, Omit<Partial<SyncOptions>, 'db' | 'onProgress'>, object]>([
    ['a page size of zero', { pageSize: 0 }, refused(/^--page-size needs a whole number/, { option: 'pageSize' })],
    ['an invalid base URL', { baseUrl: 'nowhere' }, refused(/^The base URL is not a URL/, { option: 'baseUrl' })],
    [
      'a stream there is not',
      { stream: ['asset' as 'assets'] },
      refused(/^--stream cannot be "asset": choose one of "assets"/, { option: 'stream' }),
    ],
    [
      'executions kept for less time than the service shows',
      { keepExecutions: '30d' },
      refused(/^--keep-executions needs at least 90 days, such as 120d, or off$/, { option: 'keepExecutions' }),
    ],
    ['a retention without a unit', { thinScores: '90' }, refused(/^--thin-scores needs at least 8 days/, {})],
    ['two tokens', { tokenFile: 'token' }, refused(/^two access tokens, one in the option token/)],
    ['an empty token', { token: ' ' }, refused(/^no access token/)],
    ['no base URL', { baseUrl: undefined as unknown as string }, refused(/^no base URL/)],
  ])('it refuses %s, names the option and sends no request', async (_, wrong, error) => {
    const options = { baseUrl: 'https://api.example.com', token: 'the-token', db: join(folder(), 'm.db'), ...wrong };
    for (const call of [sync, plan, verify, schedule]) {
      const thrown = await call(options).catch((thrown: unknown) => thrown);
      expect(thrown).toBeInstanceOf(SyncError);
      expect(thrown).toMatchObject(error);
    }
    expect(existsSync(options.db)).toBe(false);
  });

  test.each<[string, object, string, RegExp]>([
    ['a string for an array', { env: 'prod' }, 'env', /^the option env needs an array of strings$/],
    ['an array of other values', { stream: [7] }, 'stream', /^the option stream needs an array of strings$/],
    ['a string for a boolean', { full: 'false' }, 'full', /^the option full needs true or false$/],
    ['null for a number', { retries: null }, 'retries', /^the option retries needs a number$/],
    ['an unknown name', { pagesize: 10 }, 'pagesize', /^there is no option pagesize, did you mean pageSize\?$/],
    ['the name of a flag', { 'base-url': 'x' }, 'base-url', /^there is no option base-url/],
  ])(
    'every function refuses %s in the options of a JavaScript program and names the option',
    async (_, wrong, option, message) => {
      const options = { baseUrl: 'https://api.example.com', token: 'the-token', db: join(folder(), 'm.db'), ...wrong };
      const asked = options as never;
      for (const call of [sync, plan, verify, schedule, serve, status, openMirror, query])
        await expect(call(asked)).rejects.toMatchObject(refused(message, { option }));
      expect(existsSync(options.db)).toBe(false);
    },
  );

  test('a signal of another realm is accepted, and an object that only resembles one is refused (R27)', async () => {
    const { options } = await setUp();
    const { signal } = new AbortController();
    const foreign = Object.create(null, {
      aborted: { get: () => signal.aborted },
      addEventListener: { value: signal.addEventListener.bind(signal) },
      removeEventListener: { value: signal.removeEventListener.bind(signal) },
    });
    expect(foreign).not.toBeInstanceOf(AbortSignal);
    expect(await sync({ ...options, signal: foreign })).toMatchObject({ status: 'done' });
    for (const wrong of [null, {}, { aborted: false }, { addEventListener() {} }])
      await expect(sync({ ...options, signal: wrong as never })).rejects.toMatchObject(
        refused(/^the option signal needs an AbortSignal$/, { option: 'signal' }),
      );
  });

  test('options that are not an object are refused', async () => {
    await expect(sync(undefined as unknown as SyncOptions)).rejects.toMatchObject(
      refused(/^the options are not an object/),
    );
  });

  test('results and events name the collections, and no other streams', () => {
    type Named = Extract<SyncEvent, { type: 'stream' }>['stream'];
    expectTypeOf<Named>().toEqualTypeOf<StreamName>();
    expectTypeOf<VerifyReport['streams'][number]['stream']>().toEqualTypeOf<StreamName>();
    expectTypeOf<VerifyReport['findings'][number]['stream']>().toEqualTypeOf<StreamName | 'environments'>();
    expectTypeOf(verify).returns.resolves.toEqualTypeOf<VerifyReport>();
    expectTypeOf<StatusReport['environments'][number]['streams'][number]['stream']>().toEqualTypeOf<StreamName>();
    expectTypeOf<StreamName>().not.toEqualTypeOf<string>();
    expectTypeOf<'assets'>().toExtend<StreamName>();
    expectTypeOf<'environments'>().not.toExtend<StreamName>();
  });

  test('every option of a function is in the option tables, which validate it', () => {
    type Named = keyof (SyncOptions & VerifyOptions & ScheduleOptions & ServeOptions & QueryOptions);
    expectTypeOf<Exclude<Named, keyof typeof OPTIONS | keyof typeof LIBRARY_OPTIONS>>().toBeNever();
  });

  test('a sync stops when its signal is aborted, and the next run resumes (R27)', async () => {
    const { options } = await setUp();
    const stop = new AbortController();
    const onProgress = ({ type }: SyncEvent): void => (type === 'environments' ? stop.abort() : undefined);
    const stopped = await sync({ ...options, concurrency: 1, pageSize: 1, signal: stop.signal, onProgress });
    expect(stopped).toMatchObject({ recovery: 'signal' });
    expect(await sync(options)).toMatchObject({ status: 'done' });
    expect(await sync({ ...options, signal: AbortSignal.abort() })).toMatchObject({ recovery: 'signal' });
  });

  test('a run whose listener throws is finished, and then rejects with that error', async () => {
    const { options } = await setUp();
    const onProgress = (): never => {
      throw new Error('the watcher failed');
    };
    await expect(sync({ ...options, onProgress })).rejects.toThrow('the watcher failed');
    expect(await status(options)).toMatchObject({ last_run: { status: 'done' } });
  });

  test('a plan whose listener throws is finished, and then rejects with that error', async () => {
    const { options } = await setUp();
    const failed = new Error('the watcher failed');
    const onProgress = vi.fn<(event: SyncEvent) => void>(() => {
      throw failed;
    });
    await expect(plan({ ...options, onProgress })).rejects.toBe(failed);
    const onWait = vi.fn();
    await plan({ ...options, onProgress: ({ type }) => type === 'wait' && onWait() });
    expect([onProgress.mock.calls.length > 0, onWait.mock.calls]).toEqual([true, []]);
  });

  test('a schedule runs until its signal is aborted', async () => {
    const { options } = await setUp();
    const stop = new AbortController();
    const events: ScheduleEvent[] = [];
    await schedule({
      ...options,
      cron: '0 0 1 1 *',
      signal: stop.signal,
      onProgress(event) {
        events.push(event);
        if (event.type === 'run') stop.abort();
      },
    });
    expect(events).toContainEqual({ type: 'run', summary: expect.objectContaining({ status: 'done' }) });
    expect(events).toContainEqual({ type: 'log', level: 'info', message: expect.stringContaining('next run now') });
  });

  test('a schedule whose listener throws at every event continues, and warns once', async () => {
    const { options } = await setUp();
    const stop = new AbortController();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const onProgress = ({ type }: ScheduleEvent): never => {
      if (type === 'run') stop.abort();
      throw new Error('the listener failed');
    };
    await schedule({ ...options, cron: '0 0 1 1 *', signal: stop.signal, onProgress });
    expect(await status(options)).toMatchObject({ last_run: { status: 'done' } });
    expect(warnings.filter(({ message }) => message.includes('the listener failed'))).toHaveLength(1);
  });

  test('a server that was closed no longer listens to its signal', async () => {
    const { options } = await setUpSynced();
    const { signal } = new AbortController();
    const server = await serve({ db: options.db, port: 0, token: 'served-token', signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await server.close();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a verification that cannot start closes the mirror and releases its lock', async () => {
    const { options } = await setUpSynced();
    const settings = {
      ...syncSettings(options),
      token: 'not a token',
      depth: 'rows' as const,
      repair: true,
      mayRecord: true,
    };
    await expect(verifyOnce(settings, watchOf({}))).rejects.toThrow('The token is empty or contains');
    takeLock(options.db).release();
    expectOpenNowhere(options.db);
  });

  test('a run that cannot create its indexes closes the mirror and releases its lock', async () => {
    const { options } = await setUpSynced();
    const writer = new Database(options.db);
    const index =
      "select name from sqlite_schema where type = 'index' and tbl_name = 'columns' and sql is not null limit 1";
    const name = writer.prepare(index).pluck().get();
    writer.exec(`drop index "${name}"; create table "${name}" (x)`);
    writer.close();
    expect(() => openLocked(options.db, { stop: new AbortController().signal, quietMs: 0, clock })).toThrow(
      String(name),
    );
    takeLock(options.db).release();
    expectOpenNowhere(options.db);
  });

  test('a server serves the mirror, and closes it when the server is closed', async () => {
    const { options } = await setUpSynced();
    const server = await serve({ db: options.db, port: 0, token: 'served-token', rateLimit: 'off' });
    const headers = { authorization: 'Bearer served-token' };
    const answer = await fetch(`${server.url}/public/beta/environments`, { headers });
    expect(await answer.json()).toMatchObject([{ id: 'e1' }, { id: 'e2' }]);
    await Promise.all([server.close(), server.close()]);
    await expect(fetch(server.url)).rejects.toThrow();
    await expect(serve({ db: options.db, port: 70_000 })).rejects.toMatchObject({ option: 'port' });
  });
});

describe('the query of an open mirror', () => {
  test('it returns rows as lists or objects, and integers as numbers if they are exact', async () => {
    const { options } = await setUpSynced();
    const sql = 'select ? as text, 7 as small, 9223372036854775807 as large, null as missing';
    const asked = { db: options.db, sql, parameters: ['x'] };
    const result = await query(asked);
    expect(result.columns).toEqual(['text', 'small', 'large', 'missing']);
    expect(await Array.fromAsync(result)).toEqual([
      { text: 'x', small: 7, large: 9223372036854775807n, missing: null },
    ]);
    const { portions } = await query({ ...asked, bigints: true });
    expect((await Array.fromAsync(portions)).flat()).toEqual([['x', 7n, 9223372036854775807n, null]]);
    const named = { db: options.db, sql: 'select @id as id', parameters: { id: 'e1' } };
    expect(await Array.fromAsync(await query(named))).toEqual([{ id: 'e1' }]);
    await expect(query({ db: options.db, sql: 'delete from assets' })).rejects.toMatchObject(refused(/only reads/));
  });

  test('values that do not fit the parameters are refused as such, whatever is wrong with them', async () => {
    const { options } = await setUpSynced();
    const asked = (sql: string, ...parameters: unknown[]) => query({ db: options.db, sql, parameters } as never);
    for (const [sql, ...values] of [
      ['select 1', 1],
      ['select ?, ?', 1],
      ['select ?', new Date()],
    ] as const)
      await expect(asked(sql, ...values)).rejects.toMatchObject(refused(/the values do not fit the parameters/));
    await expect(asked('select ?')).rejects.toMatchObject(refused(/the statement has parameters/));
    await expect(asked('select ?; select ?', 1)).rejects.toMatchObject(refused(/takes one SQL statement/));
  });

  test('iteration may stop early, and the mirror may be closed while a result is unread', async () => {
    const { options } = await setUpSynced();
    const mirror = await openMirror(options);
    for (const row of mirror.query('select id from columns')) if (row) break;
    expect(mirror.status().last_run).not.toBeNull();
    mirror.query('select id from columns');
    mirror.query('select id from assets');
    mirror.close();
  });

  test('what needs a transaction asks to read or close earlier results first', async () => {
    const { options } = await setUpSynced();
    const mirror = await openMirror(options);
    onTestFinished(() => mirror.close());
    mirror.query('select id from columns where false');
    const [one, other] = [mirror.query('select id from columns'), mirror.query('select id from assets')];
    one.close();
    for (const read of [() => mirror.status(), () => mirror.snapshot(() => 1)])
      expect(read).toThrow(
        new SyncError('usage', 'the rows of an earlier query are not all read: read or close its result first'),
      );
    expect([...other].length).toBeGreaterThan(0);
    expect(mirror.status().last_run).not.toBeNull();
    expect(() => mirror.snapshot(() => mirror.query('select id from assets'))).toThrow(/not all read/);
    expect(mirror.snapshot(() => mirror.status().last_run)).not.toBeNull();
  });

  test('queries inside a snapshot see one state of the mirror, whatever is written meanwhile', async () => {
    const { options } = await setUpSynced();
    const mirror = await openMirror(options);
    onTestFinished(() => mirror.close());
    const counted = () => [...mirror.query('select count(*) as runs from sync_runs')][0]?.['runs'];
    const writer = new Database(options.db);
    onTestFinished(() => void writer.close());
    const seen = mirror.snapshot(() => [counted(), writer.prepare('delete from sync_runs').run().changes, counted()]);
    expect(seen).toEqual([1, 1, 1]);
    expect(counted()).toBe(0);
    expect(mirror.status()).toMatchObject({ last_run: null });
  });
});

/** A file can leave WAL mode only if no other connection has it open. */
function expectOpenNowhere(db: string): void {
  const connection = new Database(db, { timeout: 0 });
  expect(connection.pragma('journal_mode = delete', { simple: true })).toBe('delete');
  connection.close();
}
