import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { execute } from '../model/environment.ts';
import { startProxyServer } from '../support/proxy-server.ts';
import { testFolder } from '../support/test-folder.ts';
import { fileWith, servedScene, startReceiver } from './setup.ts';

const RULES = [{ name: 'failing', when: { kind: 'test' }, to: 'it' }];

/** What a channel is told of a test that fails and passes again. */
async function tell(channel: object, reason = '<b> & co'): Promise<void> {
  const { sync, env } = await servedScene({
    channels: { it: channel },
    rules: RULES,
    page: 'https://page.example.com/',
  });
  await sync();
  execute(env, 't2', 't2-r2', { status: 'FAIL', result_reason: reason });
  await sync();
  execute(env, 't2', 't2-r3', { status: 'PASS' });
  await sync();
}

const textBlock = (text: string, style: object = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text, ...style }],
});

describe('the channels of alerts', () => {
  test('slack gets blocks of plain text, and the same as text for those that know no blocks', async () => {
    const receiver = await startReceiver();
    await tell({ type: 'slack', urlFile: fileWith(receiver.url) });
    const [begin, end] = receiver.posts.map(({ body }) => JSON.parse(body));
    expect(begin.blocks[0]).toEqual({
      type: 'header',
      text: { type: 'plain_text', text: '🔴 Test t2 fails on a1 (env e1)' },
    });
    expect(begin.blocks[1].text).toEqual({ type: 'plain_text', text: expect.stringContaining('<b> & co\n') });
    expect(begin.blocks[2].text.text).toBe('<https://page.example.com/#/failing?env=e1|Open the page>');
    expect(begin.text).toContain('🔴 Test t2 fails on a1 (env e1)\n&lt;b&gt; &amp; co');
    expect(end.text).toMatch(/^✅ Ended: Test t2 fails on a1/);
  });

  test('teams gets an Adaptive Card of text that is shown as it is, with a link', async () => {
    const receiver = await startReceiver();
    await tell({ type: 'teams', urlFile: fileWith(receiver.url) }, `**b** ${'😀'.repeat(1600)}`);
    const [begin, end] = receiver.posts.map(({ body }) => JSON.parse(body));
    expect(begin).toEqual({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.2',
            body: expect.arrayContaining([
              textBlock('🔴 Test t2 fails on a1 (env e1)', { weight: 'Bolder' }),
              textBlock(`**b** ${'😀'.repeat(1497)}`),
            ]),
            actions: [
              { type: 'Action.OpenUrl', title: 'Open the page', url: 'https://page.example.com/#/failing?env=e1' },
            ],
          },
        },
      ],
    });
    expect(end.attachments[0].content.body[0].inlines[0].text).toMatch(/^✅ Ended: Test t2 fails on a1/);
  });

  test('slack gets no half of a character where a text is cut', async () => {
    const receiver = await startReceiver();
    await tell({ type: 'slack', urlFile: fileWith(receiver.url) }, `n${'😀'.repeat(1600)}`);
    const [begin] = receiver.posts.map(({ body }) => JSON.parse(body));
    expect(begin.blocks[1].text.text).toBe(`n${'😀'.repeat(1499)}`);
  });

  test('the user of an address is sent as Basic authentication', async () => {
    const receiver = await startReceiver();
    await tell({ type: 'webhook', urlFile: fileWith(receiver.url.replace('//', '//ana:p%40ss@')) });
    const { authorization, 'webhook-id': id } = receiver.posts[0]?.headers ?? {};
    expect(authorization).toBe(`Basic ${Buffer.from('ana:p@ss').toString('base64')}`);
    expect(id).toMatch(/^\w+-1$/);
  });

  test('all messages of a run use one connection of their channel', async () => {
    const receiver = await startReceiver();
    const { sync, env } = await servedScene({
      channels: { it: { type: 'webhook', urlFile: fileWith(receiver.url) } },
      rules: RULES,
    });
    await sync();
    for (const name of ['t1', 't2']) execute(env, name, `${name}-r2`, { status: 'FAIL' });
    await sync();
    expect(receiver.posts).toHaveLength(2);
    expect(new Set(receiver.posts.map(({ from }) => from)).size).toBe(1);
  });

  test('alertmanager gets an alert that stays open until its end, with the same labels', async () => {
    const receiver = await startReceiver();
    await tell({ type: 'alertmanager', urlFile: fileWith(receiver.url) });
    const [begin, end] = receiver.posts.map(({ body }) => JSON.parse(body)[0]);
    expect(receiver.posts[0]?.path).toBe('/hook/s3cret-path/api/v2/alerts');
    expect(begin.labels).toMatchObject({
      alertname: 'obsync_test',
      rule: 'failing',
      environment: 'env e1',
      subject: 't2',
    });
    expect(end.labels).toEqual(begin.labels);
    expect(end.startsAt).toBe(begin.startsAt);
    expect(Number(begin.endsAt.slice(0, 4)) - Number(begin.startsAt.slice(0, 4))).toBeGreaterThan(8);
    expect(end.endsAt > end.startsAt && end.endsAt < begin.endsAt).toBe(true);
  });

  test('a program reads the event from stdin, without the tokens in its environment', async () => {
    const file = join(testFolder(), 'events');
    const script = `cat >> ${file}; printf ' token=%s\\n' "$OBSYNC_TOKEN$OBSYNC_SERVE_TOKEN" >> ${file}`;
    const tokens = ['OBSYNC_TOKEN', 'OBSYNC_SERVE_TOKEN'];
    for (const name of tokens) process.env[name] = 'a-token';
    try {
      await tell({ type: 'exec', command: ['sh', '-c', script] });
    } finally {
      for (const name of tokens) delete process.env[name];
    }
    const [begin = '', end = ''] = readFileSync(file, 'utf8').trim().split('\n');
    expect(begin).toMatch(/^\{.*"type":"obsync\.alert\.begin".*\} token=$/);
    expect(end).toMatch(/"type":"obsync\.alert\.end"/);
  });

  test('a program that fails or does not exist counts as not delivered', async () => {
    for (const [command, error] of [
      ['false', /exited with code 1/],
      ['/no/such/program', /cannot be run \(ENOENT\)/],
      [join(fileWith(''), 'program'), /cannot be run \(ENOTDIR\)/],
    ] as const) {
      const { sync, env, events } = await servedScene({ channels: { it: { type: 'exec', command } }, rules: RULES });
      await sync();
      execute(env, 't2', 't2-r2', { status: 'FAIL' });
      expect((await sync()).status).toBe('done');
      expect(events.find(({ type }) => type === 'alerts')).toMatchObject({
        failed: 1,
        error: expect.stringMatching(error),
      });
    }
  });

  test('ping is told when a run begins and how it ended, with a summary', async () => {
    const receiver = await startReceiver();
    const { sync, env } = await servedScene({ channels: { watch: { type: 'ping', urlFile: fileWith(receiver.url) } } });
    await sync();
    env.denied.add('tests');
    await sync();
    expect(receiver.posts.map(({ path }) => path.replace('/hook/s3cret-path', ''))).toEqual([
      '/start',
      '/0',
      '/start',
      '/1',
    ]);
    expect(receiver.posts[1]?.body).toMatch(/^run 1: done\n\d+ rows written/);
    expect(receiver.posts[3]?.body).toMatch(/^run 2: problems\n.*\n.*env e1 tests: /);
  });

  test('a ping that fails is reported with the name of its channel, without a promise to repeat it', async () => {
    const receiver = await startReceiver();
    receiver.status = 503;
    const { sync, events } = await servedScene({
      channels: { watch: { type: 'ping', urlFile: fileWith(receiver.url) } },
    });
    await sync();
    const errors = events.flatMap((event) => (event.type === 'alerts' ? [event.error] : []));
    expect(errors).toEqual(Array(2).fill('watch: it answered 503'));
  });

  test('a run leaves no listener on the signal of its schedule', async () => {
    const { sync, signal } = await servedScene({ channels: {} });
    await sync();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a run without an answer is reported too, and the exit code says that the token was refused', async () => {
    const receiver = await startReceiver();
    const { sync, world } = await servedScene({
      channels: { watch: { type: 'ping', urlFile: fileWith(receiver.url) } },
    });
    await sync({ baseUrl: 'http://127.0.0.1:1' });
    expect(receiver.posts.at(-1)?.path).toMatch(/\/1$/);
    expect(world.violations).toEqual([]);
  });

  test('deliveries go through the proxy of HTTP_PROXY, unless NO_PROXY lists the host', async () => {
    const [receiver, proxy] = [await startReceiver(), await startProxyServer()];
    onTestFinished(() => proxy.close());
    const { host } = new URL(receiver.url);
    const throughProxy = () => proxy.requests.filter((line) => line.includes(host)).length;
    process.env['HTTP_PROXY'] = `http://${proxy.host}`;
    try {
      await tell({ type: 'webhook', urlFile: fileWith(receiver.url) });
      const before = throughProxy();
      process.env['NO_PROXY'] = '127.0.0.1';
      await tell({ type: 'webhook', urlFile: fileWith(receiver.url) });
      expect([before > 0, throughProxy() - before]).toEqual([true, 0]);
    } finally {
      for (const name of ['HTTP_PROXY', 'NO_PROXY']) delete process.env[name];
    }
  });
});
