import { afterAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { type Principal, rootToken } from '../../src/server/access.ts';
import { type AdmittedRequest, answersHere, type EndpointAnswers } from '../../src/server/answers.ts';
import { makeCursorKey, openMirrorReads } from '../../src/server/mirror-reads.ts';
import { answersInThreads } from '../../src/server/read-threads.ts';
import { asset, bearer, insert, NOW, serve } from './fixture.ts';

const never = new AbortController().signal;
const reader = (name: string): Principal => rootToken(name, name).reader;
const ALL = reader('all');
const OPTIONS = { weights: new Map(), cursorKey: makeCursorKey() };

const fillTables =
  (count: number) =>
  ({ connection }: MirrorFile) =>
    void connection
      .prepare(
        `insert into assets (env_id, id, name, kind, path, source_type, data_platform, db_name, schema_name, table_name,
         materialization, mirrored_at)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       select 'e', 'a' || i, 'n', 'table', 'models/marts/area/' || i, 'dbt', 's', 'd', 's', 't', 'view', ? from n`,
      )
      .run(count, NOW);

const HEAVY: Omit<AdmittedRequest, 'reader'> = {
  operationId: 'aggregateAssetHealthScores',
  params: { env_id: 'e' },
  query: { path: ['models'] },
};
const LIGHT: Omit<AdmittedRequest, 'reader'> = { operationId: 'listEnvironments', params: {}, query: {} };

/** With enough tables for an aggregate to take a while. */
const { mirror, server } = serve(fillTables(60_000), { threads: 1 });

/** Threads over the same file, stopped when the test ends. */
function open(count: number, { path } = mirror): EndpointAnswers {
  const answers = answersInThreads(count, { path, ...OPTIONS });
  onTestFinished(() => answers.close());
  return answers;
}

/** The names in the order in which their requests finished. */
function inOrder(answers: EndpointAnswers) {
  const over: string[] = [];
  const ask = async (name: string, request: AdmittedRequest, gone = never) => {
    try {
      return await answers.answer(request, gone);
    } finally {
      over.push(name);
    }
  };
  return { over, ask };
}

describe('reader threads', () => {
  test('a slow read does not delay /healthz', async () => {
    const ask = async (url: string) => (await (await server).inject({ url, headers: bearer('secret') })).statusCode;
    const heavy = '/public/beta/e/asset-health-scores/aggregate?path=models';
    expect(await ask('/public/beta/environments')).toBe(200);
    const over: string[] = [];
    const noted = async (url: string) => {
      expect(await ask(url)).toBe(200);
      over.push(url);
    };
    await Promise.all([noted(heavy), noted(heavy), noted('/healthz')]);
    expect(over).toEqual(['/healthz', heavy, heavy]);
  });

  test('a waiting request is dropped when its client is gone, but a read that has started is finished', async () => {
    const { over, ask } = inOrder(open(1));
    const gone = new AbortController();
    const begun = ask('begun', { ...HEAVY, reader: ALL }, gone.signal);
    const waiting = ask('waiting', { ...HEAVY, reader: ALL }, gone.signal);
    const other = ask('other', { ...LIGHT, reader: ALL });
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ statusCode: 499 });
    await expect(ask('too late', { ...LIGHT, reader: ALL }, gone.signal)).rejects.toMatchObject({ statusCode: 499 });
    await begun;
    await other;
    expect(over).toEqual(['waiting', 'too late', 'begun', 'other']);
  });

  test('the reader with fewer unfinished requests is answered first', async () => {
    const { over, ask } = inOrder(open(1));
    const [greedy, modest] = [reader('greedy'), reader('modest')];
    const asking = ['first', 'second', 'third'].map((name) => ask(name, { ...LIGHT, reader: greedy }));
    await Promise.all([...asking, ask('modest', { ...LIGHT, reader: modest })]);
    expect(over).toEqual(['first', 'modest', 'second', 'third']);
  });

  test('if too many requests are waiting, the next one is rejected with Retry-After', async () => {
    const answers = open(1);
    const refused = { statusCode: 503, code: 'overloaded', headers: { 'retry-after': '2' } };
    const gone = new AbortController();
    const many = (name: string) => {
      const by = reader(name);
      return Array.from({ length: 256 }, () => answers.answer({ ...LIGHT, reader: by }, gone.signal));
    };
    const greedy = reader('greedy');
    const asked = Array.from({ length: 256 }, () => answers.answer({ ...LIGHT, reader: greedy }, gone.signal));
    // One token can take at most half of the queue.
    await expect(answers.answer({ ...LIGHT, reader: greedy }, never)).rejects.toMatchObject(refused);
    asked.push(...many('other'));
    const last = answers.answer({ ...LIGHT, reader: reader('last') }, gone.signal);
    await expect(answers.answer({ ...LIGHT, reader: reader('too many') }, never)).rejects.toMatchObject(refused);
    gone.abort();
    const results = await Promise.allSettled([...asked, last]);
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(512);
    expect(await answers.answer({ ...LIGHT, reader: greedy }, never)).toHaveProperty('body');
  });

  test('a reader’s restrictions apply in every thread, and new ones from the next request on', async () => {
    const answers = open(2, serve(fillTables(20)).mirror);
    const count = async (paths: readonly string[] | null) => {
      const { reader: all } = rootToken('same name', '');
      const by: Principal = { ...all, paths };
      const asked = await Promise.all([1, 2, 3].map(() => answers.answer({ ...HEAVY, reader: by }, never)));
      return asked.map((answer) => ('body' in answer ? JSON.parse(answer.body.toString()).matched_count : answer));
    };
    expect(await count(['models/marts/area/7'])).toEqual([1, 1, 1]);
    expect(await count(['models/marts/area/8', 'models/marts/area/9'])).toEqual([2, 2, 2]);
    expect(await count(null)).toEqual([20, 20, 20]);
    expect(await count([])).toEqual([0, 0, 0]);
  });

  test('an HTTP error keeps its status and code, and has the mirror’s time', async () => {
    const asking = { operationId: 'getAsset', params: { env_id: 'e', asset_id: 'none' }, query: {}, reader: ALL };
    expect(await open(1).answer(asking, never)).toMatchObject({
      now: NOW,
      refusal: { statusCode: 404, code: 'not_found', message: 'Asset none does not exist' },
    });
  });

  test('an internal failure affects only its own request and keeps its stack', async () => {
    const answers = open(1);
    const broken = answers.answer({ ...LIGHT, operationId: 'none', reader: ALL }, never);
    await expect(broken).rejects.toThrow('no operation none');
    await expect(broken).rejects.toHaveProperty('stack', expect.stringContaining(inject('compiled')));
    expect(await answers.answer({ ...LIGHT, reader: ALL }, never)).toHaveProperty('body');
  });

  test('a thread that cannot start fails its request, and the next request starts another thread', async () => {
    const answers = answersInThreads(1, { path: '/nowhere/mirror.db', ...OPTIONS });
    onTestFinished(() => answers.close());
    for (let i = 0; i < 2; i += 1)
      await expect(answers.answer({ ...LIGHT, reader: ALL }, never)).rejects.toThrow(
        '/nowhere/mirror.db does not exist',
      );
  });
});

describe('answers with and without reader threads', () => {
  const small: Parameters<typeof serve>[0] = ({ db }) =>
    insert(db, assets, [asset('a'), asset('b', { owners: '["ö"]', extra: '{"more":[1]}' })]);
  const files = serve(small);
  const here = answersHere({ store: openMirrorReads(files.mirror, OPTIONS.cursorKey), ...OPTIONS });
  const there = answersInThreads(2, { path: files.mirror.path, ...OPTIONS });
  afterAll(() => there.close());
  const list = { params: { env_id: 'e' }, query: { limit: 1 } };

  test.each<[string, Omit<AdmittedRequest, 'reader'>]>([
    ['a page', { operationId: 'listAssets', ...list }],
    ['an item', { operationId: 'getAsset', params: { env_id: 'e', asset_id: 'b' }, query: {} }],
    ['a missing item', { operationId: 'getAsset', params: { env_id: 'e', asset_id: 'c' }, query: {} }],
    ['the environments', LIGHT],
    ['the aggregate', HEAVY],
    ['the measurements', { operationId: 'measure', params: {}, query: {} }],
  ])('%s is the same bytes in both', async (_, ask) => {
    const [one, other] = [here, there].map((answers) => answers.answer({ ...ask, reader: ALL }, never));
    const answered = { ...(await one), cpuMs: expect.any(Number) };
    expect(await other).toEqual(answered);
  });

  test('a cursor of one thread is valid in all others, even in a mirror without a key', async () => {
    files.writing.connection.prepare('update mirror set cursor_key = null').run();
    const page = async (query: object) =>
      there.answer(
        { operationId: 'listAssets', params: list.params, query: { limit: 1, ...query }, reader: ALL },
        never,
      );
    const first = await page({});
    const { next_cursor: cursor } = JSON.parse('body' in first ? first.body.toString() : '');
    const pages = await Promise.all([page({ cursor }), page({ cursor })]);
    for (const next of pages)
      expect('body' in next ? JSON.parse(next.body.toString()) : next).toMatchObject({ items: [{ id: 'b' }] });
  });
});
