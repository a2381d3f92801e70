import { createHmac } from 'node:crypto';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { takeLock } from '../../state/lock.ts';
import { execute, put, putColumn, putTest, remove } from '../model/environment.ts';
import type { Reply } from '../support/api-server.ts';
import { testSchema } from '../support/postgres.ts';
import { fileWith, type Receiver, servedScene, startReceiver } from './setup.ts';

const KEY = Buffer.from('the key of a webhook');

async function scene(when: object = { kind: 'test' }, more: object = {}) {
  const receiver = await startReceiver();
  const hook = {
    type: 'webhook',
    urlFile: fileWith(receiver.url),
    secretFile: fileWith(`whsec_${KEY.toString('base64')}`),
  };
  const rules = [{ name: 'failing', when, to: 'hook', ...more }];
  return { receiver, ...(await servedScene({ channels: { hook }, rules, page: 'https://page.example.com' })) };
}

/** A scene after its first sync, since when the test t2 fails. */
async function failingScene() {
  const made = await scene();
  await made.sync();
  execute(made.env, 't2', 't2-r2', { status: 'FAIL' });
  return made;
}

const events = ({ posts }: Receiver) =>
  posts.map(({ body }) => {
    const { type, data } = JSON.parse(body);
    return [type.replace('obsync.alert.', ''), data.title];
  });

describe('alerts about failing tests', () => {
  test('the first sync is silent: what fails already is recorded, and its end is not sent', async () => {
    const { sync, env, receiver, db } = await scene();
    expect((await sync()).status).toBe('done');
    const open = new Database(db, { readonly: true }).prepare('select subject, silent, ended_at from alerts').all();
    expect(open).toEqual([{ subject: 't1', silent: 1, ended_at: null }]);
    execute(env, 't1', 't1-r2b', { sub_test_unique_id: 't1.2', status: 'PASS' });
    await sync();
    expect(receiver.posts).toEqual([]);
  });

  test('an environment that is not listed for a while tells again what it had told, and nothing that was silent', async () => {
    const { sync, env, receiver } = await failingScene();
    await sync();
    env.listed = false;
    await sync();
    env.listed = true;
    await sync();
    expect(events(receiver)).toEqual([
      ['begin', 'Test t2 fails on a1 (env e1)'],
      ['end', 'Ended: Test t2 fails on a1 (env e1)'],
      ['begin', 'Test t2 fails on a1 (env e1)'],
    ]);
  });

  test('a test that begins to fail is sent once, and its end when it passes', async () => {
    const { sync, env, receiver } = await failingScene();
    await sync();
    await sync();
    expect(events(receiver)).toEqual([['begin', 'Test t2 fails on a1 (env e1)']]);
    execute(env, 't2', 't2-r3', { status: 'PASS' });
    await sync();
    expect(events(receiver)).toEqual([
      ['begin', 'Test t2 fails on a1 (env e1)'],
      ['end', 'Ended: Test t2 fails on a1 (env e1)'],
    ]);
  });

  test('a new failure is told even if another sub-test of the same test failed at first', async () => {
    const { sync, env, receiver } = await scene();
    await sync();
    execute(env, 't1', 't1-r2', { status: 'FAIL' });
    await sync();
    expect(events(receiver)).toEqual([['begin', 'Test t1 fails on a1 (env e1)']]);
  });

  test('in PostgreSQL, too, a test that begins to fail is sent once, and its end when it passes', async () => {
    const { sync, env, receiver } = await scene();
    const { url: db } = await testSchema();
    await sync({ db });
    execute(env, 't2', 't2-r2', { status: 'FAIL' });
    await sync({ db });
    execute(env, 't2', 't2-r3', { status: 'PASS' });
    await sync({ db });
    expect(events(receiver).map(([type]) => type)).toEqual(['begin', 'end']);
  });

  test('a message says since when, what depends on the asset, which dashboards, the cause, and links to the page', async () => {
    const { sync, env, receiver } = await scene();
    put(env, 'tests', 't4', { asset_id: 'a2', owners: ['ana'] });
    await sync();
    execute(env, 't4', 't4-r2', { status: 'FAIL', result_reason: 'ANOMALY_DETECTED' });
    await sync();
    const { data } = JSON.parse(receiver.posts[0]?.body ?? '');
    expect(data).toMatchObject({
      title: 'Test t4 fails on a2 (env e1)',
      link: 'https://page.example.com/#/failing?env=e1',
      impact: { downstream_count: 2, dashboard_count: 1, cause: { asset_id: 'a1' } },
    });
    expect(data.lines).toEqual([
      'ANOMALY_DETECTED',
      expect.stringMatching(/^Severity: /),
      'Owner: ana',
      'Probable cause: a1 (upstream) is failing too',
      'Downstream: 2 assets',
      'Dashboards: b1',
      expect.stringMatching(/^Since: 20\d\d-\d\d-\d\d \d\d:\d\d UTC$/),
    ]);
  });

  test('a delivery that failed is repeated by the next run with the same key, before its end', async () => {
    const { sync, env, receiver, events: told } = await failingScene();
    receiver.status = 503;
    const summary = await sync();
    expect(summary.status).toBe('done');
    expect(told.filter(({ type }) => type === 'alerts')).toEqual([
      { type: 'alerts', delivered: 0, failed: 1, error: 'hook: it answered 503. The next run tries again' },
    ]);
    execute(env, 't2', 't2-r3', { status: 'PASS' });
    receiver.status = 200;
    await sync();
    const keys = receiver.posts.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toBe(keys[1]);
    expect(events(receiver).map(([type]) => type)).toEqual(['begin', 'begin', 'end']);
  });

  test('a refused message is given up after five runs, and the one behind it is sent', async () => {
    const { sync, env, receiver, events: told } = await failingScene();
    receiver.status = 400;
    for (let run = 0; run < 4; run += 1) await sync();
    execute(env, 't2', 't2-r3', { status: 'PASS' });
    await sync();
    expect(events(receiver).map(([type]) => type)).toEqual(['begin', 'begin', 'begin', 'begin', 'begin', 'end']);
    expect(told.filter(({ type }) => type === 'alerts').at(-1)).toMatchObject({
      error: 'hook: it answered 400. The message is given up after 5 attempts',
    });
  });

  test('no clock alone deletes alerts: they stay if only the service says that 90 days have passed', async () => {
    const { sync, env, world, db } = await failingScene();
    await sync();
    execute(env, 't2', 't2-r3', { status: 'PASS' });
    await sync();
    world.advance(200 * 86_400);
    await sync();
    const file = new Database(db, { readonly: true });
    expect(file.prepare('select subject from alerts where ended_at is not null').pluck().all()).toEqual(['t2']);
  });

  test('messages for a channel that is no longer configured are reported', async () => {
    const { sync, receiver, events: told } = await failingScene();
    receiver.status = 503;
    await sync();
    await sync({ alerts: { channels: { other: { type: 'exec', command: ['true'] } }, rules: [] } });
    expect(told.filter(({ type }) => type === 'alerts').at(-1)).toMatchObject({
      error: "2 messages wait for channel hook, which isn't configured",
    });
  });

  test('a webhook is signed as Standard Webhooks prescribe', async () => {
    const { sync, receiver } = await failingScene();
    await sync();
    const [post] = receiver.posts;
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = post?.headers ?? {};
    const expected = createHmac('sha256', KEY).update(`${id}.${at}.${post?.body}`).digest('base64');
    expect(signature).toBe(`v1,${expected}`);
  });

  test.each<[string, string, Reply]>([
    ['token', 'The service refuses the token', { status: 401 }],
    ['quota', 'The quota of the account is exhausted', { status: 429, headers: { 'retry-after': '3600' } }],
  ])(
    'a run that ends because of the %s begins an alert, and the next one that is answered ends it',
    async (kind, title, reply) => {
      const { sync, outage, receiver } = await scene({ kind });
      await sync();
      outage.reply = reply;
      expect((await sync()).recovery).toBe(kind);
      expect(events(receiver)).toEqual([['begin', title]]);
      delete outage.reply;
      await sync();
      expect(events(receiver)).toHaveLength(2);
    },
  );

  describe('when the service does not list its environments', () => {
    /** A scene whose service went down after the first sync. */
    async function downScene(when: object = { kind: 'stale' }, db?: string) {
      const made = await scene(when);
      const options = db === undefined ? {} : { db };
      await made.sync(options);
      made.outage.reply = { status: 500 };
      return { ...made, options };
    }

    test('the environments of the mirror become stale, but a run that is refused decides nothing', async () => {
      const { sync, outage, receiver, db } = await downScene();
      expect((await sync({ baseUrl: 'http://127.0.0.1:1' })).recovery).toBe('usage');
      const lock = takeLock(db);
      expect((await sync()).recovery).toBe('locked');
      lock.release();
      expect(receiver.posts).toEqual([]);
      expect((await sync()).error).not.toBeNull();
      expect(events(receiver)).toEqual([['begin', expect.stringMatching(/^The mirror is stale: .* \(env e1\)$/)]]);
      delete outage.reply;
      await sync();
      expect(events(receiver)).toHaveLength(2);
    });

    test('in PostgreSQL, too, they become stale, unless another run is writing them', async () => {
      const { url: db, ask } = await testSchema();
      const { sync, options, receiver, events: told } = await downScene({ kind: 'stale' }, db);
      const until = '(extract(epoch from now()) * 1000 + 60000)::bigint';
      await ask(`insert into lease_owners (owner, until_ms) values ('other', ${until});
        update mirror_environments set lease_owner = 'other'`);
      await sync(options);
      expect([events(receiver), told.filter(({ type }) => type === 'alerts')]).toEqual([[], []]);
      await ask('delete from lease_owners');
      await sync(options);
      expect(events(receiver).map(([type]) => type)).toEqual(['begin']);
    });

    test('only the environments of the run become stale', async () => {
      const { sync, receiver } = await downScene();
      await sync({ env: ['another'] });
      expect(receiver.posts).toEqual([]);
      await sync({ env: ['env e1'] });
      expect(events(receiver)).toHaveLength(1);
    });

    test('messages that wait are sent', async () => {
      const { sync, outage, receiver } = await failingScene();
      receiver.status = 503;
      await sync();
      receiver.status = 200;
      outage.reply = { status: 500 };
      await sync();
      expect(events(receiver).map(([type]) => type)).toEqual(['begin', 'begin']);
    });
  });

  test('a dropped column is told, whether or not the service says when it had changed', async () => {
    const { sync, env, receiver } = await scene({ kind: 'column_dropped' });
    delete env.columns.get('a1.c1')?.item['synced_at'];
    await sync();
    for (const id of ['a1.c1', 'a1.c2']) remove(env, 'columns', id, 'tombstone');
    await sync({ full: true });
    expect(events(receiver).map(([event]) => event)).toEqual(['begin', 'begin']);
  });

  test('each change of the type of a column is told, also within a day', async () => {
    const { sync, env, receiver } = await scene({ kind: 'column_type' });
    await sync();
    for (const data_type of ['NUMBER', 'DATE']) {
      putColumn(env, 'a1.c1', 'a1', { data_type });
      await sync();
      await sync();
    }
    const lines = receiver.posts.map(({ body }) => JSON.parse(body).data.lines[0]);
    expect(lines).toEqual(['Type: int before, now NUMBER', 'Type: NUMBER before, now DATE']);
  });

  test('a list that answers 404 is told by the run that meets it, and so are histories that all do', async () => {
    const { sync, env, receiver } = await scene({ kind: 'unavailable' });
    const ids = ['t5', 't6', 't7', 't8', 't9'];
    for (const id of ids) putTest(env, id, 'a2');
    await sync({ history: true });
    env.notLive.add('asset-health-scores');
    await sync();
    expect(events(receiver)).toEqual([['begin', 'The service no longer has asset_health_scores (env e1)']]);
    for (const id of ids) execute(env, id, `${id}-r2`);
    env.notLive.add('executions');
    await sync({ history: true });
    expect(events(receiver).slice(1)).toEqual([['begin', 'The service no longer has test_executions (env e1)']]);
    env.notLive.clear();
    await sync({ history: true });
    const ends = events(receiver).slice(2);
    expect(ends.map(([type]) => type)).toEqual(['end', 'end']);
  });

  test('no address of a channel is in the mirror, the summary or an event', async () => {
    const { sync, receiver, events: told, db } = await failingScene();
    receiver.status = 500;
    const summary = await sync();
    const file = new Database(db, { readonly: true });
    const stored = ['alerts', 'alert_deliveries'].map((table) => file.prepare(`select * from ${table}`).all());
    expect(JSON.stringify([stored, summary, told])).not.toMatch(/s3cret|127\.0\.0\.1:.*hook/);
  });
});
