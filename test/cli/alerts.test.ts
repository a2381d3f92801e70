import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { alerts } from '../../schema/alerts.ts';
import { fileWith, startReceiver } from '../alerts/setup.ts';
import { CA_FILE, startTlsServer } from '../support/tls-server.ts';
import { folder, mirrorFile, obsync, refusal, start } from './setup.ts';

const BEGUN = '2026-11-20T04:10:00.000000Z';

/** A mirror with an open alert, one that has ended, and one that is pending. */
const mirrorWithAlerts = () =>
  mirrorFile(({ db }) => {
    const row = { env_id: 'e', rule: 'r', kind: 'test', members: '{"a":{}}', silent: 0, messages: 1, channels: '[]' };
    db.insert(alerts)
      .values({ ...row, id: 'aa11', subject: 'orders', begun_at: BEGUN })
      .run();
    db.insert(alerts)
      .values({ ...row, id: 'aa22', subject: 'ended', begun_at: BEGUN, ended_at: BEGUN })
      .run();
    db.insert(alerts)
      .values({ ...row, id: 'bb33', subject: 'pending' })
      .run();
  });

function configFile(config: object): string {
  const path = join(folder(), 'obsync.json');
  writeFileSync(path, JSON.stringify(config));
  return path;
}

describe('obsync alerts', () => {
  test('list shows the alerts that have begun and not ended', async () => {
    const { code, stdout } = await obsync(['alerts', 'list', '--db', mirrorWithAlerts()]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/aa11 .* orders .* 2026-11-20 04:10 UTC/);
    expect(stdout).not.toMatch(/ended|pending/);
  });

  test('snooze stops the reminders of the open alert whose key begins so', async () => {
    const db = mirrorWithAlerts();
    expect(await obsync(['alerts', 'snooze', 'aa', '--for', '2h', '--db', db])).toMatchObject({ code: 0 });
    const file = new Database(db, { readonly: true });
    const snoozed = file.prepare('select id from alerts where snoozed_until is not null').pluck().all();
    expect(snoozed).toEqual(['aa11']);
    expect(await obsync(['alerts', 'snooze', 'zz', '--db', db])).toMatchObject(refusal(/no open alert has the key zz/));
    expect(await obsync(['alerts', 'snooze', 'aa', '--for', 'long', '--db', db])).toMatchObject(
      refusal(/--for needs a number with its unit/),
    );
  });

  test('test sends a sample to one channel or all, and exits 1 if one does not accept it', async () => {
    const receiver = await startReceiver();
    const url = fileWith(receiver.url);
    const channels = { team: { type: 'slack', urlFile: url }, hook: { type: 'webhook', urlFile: url } };
    const config = ['--config', configFile({ alerts: { channels } })];
    expect(await obsync(['alerts', 'test', 'team', ...config])).toMatchObject({
      code: 0,
      stdout: 'team (slack): delivered\n',
    });
    expect(receiver.posts.map(({ body }) => JSON.parse(body).text)).toEqual([
      expect.stringMatching(/^✅ Test message of obsync\nNothing is wrong\./),
    ]);
    receiver.status = 404;
    const all = await obsync(['alerts', 'test', '--all', ...config]);
    expect(all).toMatchObject({ code: 1, stdout: 'team (slack): it answered 404\nhook (webhook): it answered 404\n' });
    expect(await obsync(['alerts', 'test', ...config])).toMatchObject(refusal(/needs the name of a channel, or --all/));
  });

  test('a private authority of --ca-file is trusted, and no message quotes the address', async () => {
    const service = await startTlsServer();
    onTestFinished(() => service.close());
    const urlFile = fileWith(`https://127.0.0.1:${service.port}/s3cret`);
    const config = configFile({ alerts: { channels: { team: { type: 'slack', urlFile } } } });
    const refused = await obsync(['alerts', 'test', 'team', '--config', config]);
    expect(refused).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^team \(slack\): the connection failed \(\w+\)\n$/),
    });
    expect(await obsync(['alerts', 'test', 'team', '--config', config, '--ca-file', CA_FILE])).toMatchObject({
      code: 0,
    });
  });

  test('files of channels are relative to the config file', async () => {
    const receiver = await startReceiver();
    const path = configFile({ alerts: { channels: { team: { type: 'slack', urlFile: 'team.url' } } } });
    writeFileSync(join(path, '../team.url'), receiver.url);
    expect(await obsync(['alerts', 'test', 'team', '--config', path])).toMatchObject({ code: 0 });
  });

  test('a program with a slash in its name is relative to the config file, and a failure names it', async () => {
    const path = configFile({ alerts: { channels: { team: { type: 'exec', command: ['./notify.sh'] } } } });
    const program = join(path, '../notify.sh');
    writeFileSync(program, '#!/bin/sh\ncat > /dev/null\n', { mode: 0o700 });
    expect(await obsync(['alerts', 'test', 'team', '--config', path])).toMatchObject({ code: 0 });
    rmSync(program);
    const { code, stdout } = await obsync(['alerts', 'test', 'team', '--config', path]);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`${program} cannot be run (ENOENT)`)]);
  });
});

test('a run that is stopped while a channel hangs still says how it ended', async () => {
  const hanging = Promise.withResolvers<void>();
  const server = createServer(({ url }, response) => {
    if (url?.endsWith('/start')) response.end();
    else hanging.resolve();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const urlFile = fileWith(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const config = configFile({ alerts: { channels: { watch: { type: 'ping', urlFile } } } });
  const options = ['--base-url', 'http://127.0.0.1:1', '--retries', '0', '--config', config];
  const run = start(['sync', ...options], { env: { OBSYNC_TOKEN: 'a-token' } });
  await hanging.promise;
  run.kill('SIGTERM');
  const { code, stderr } = await run.ended;
  expect([code, stderr]).toEqual([1, expect.stringMatching(/obsync: .*127\.0\.0\.1:1/)]);
  expect(stderr).not.toContain('stopped in the middle');
});

describe('alerts in the config file', () => {
  const channels = { team: { type: 'exec', command: ['true'] }, watch: { type: 'ping', urlEnv: 'PATH' } };
  const rule = { name: 'r', to: 'team' };
  const cases: [string, object | string, RegExp][] = [
    ['a list in place of an object', [], /alerts needs an object/],
    ['an unknown key', { chanels: {} }, /there is no alerts\.chanels, did you mean channels/],
    [
      'an address as a value',
      { channels: { a: { type: 'slack', url: 'https://x' } } },
      /A URL is a secret: name its file with urlFile/,
    ],
    [
      'an unknown type',
      { channels: { a: { type: 'mail' } } },
      /alerts\.channels\.a\.type needs one of slack, teams, webhook/,
    ],
    [
      'an address as the name of its variable',
      { channels: { a: { type: 'slack', urlEnv: 'https://example.com/x' } } },
      /urlEnv needs the name of a variable that contains the url, not the url itself/,
    ],
    [
      'an address as the name of its file',
      { channels: { a: { type: 'slack', urlFile: 'https://example.com/x' } } },
      /urlFile needs the name of a file that contains the url, not the url itself/,
    ],
    [
      'a secret in another form than whsec_',
      {
        channels: {
          a: { type: 'webhook', urlFile: fileWith('https://example.com/x'), secretFile: fileWith('example.com/x') },
        },
      },
      /alerts\.channels\.a needs a secret that begins with whsec_/,
    ],
    ['a channel without an address', { channels: { a: { type: 'slack' } } }, /alerts\.channels\.a needs urlFile/],
    [
      'a file that is not there',
      { channels: { a: { type: 'slack', urlFile: '/no/such' } } },
      /\/no\/such cannot be read/,
    ],
    [
      'a variable that is not set',
      { channels: { a: { type: 'slack', urlEnv: 'NO_SUCH' } } },
      /NO_SUCH is empty or not set/,
    ],
    [
      'plain http to another machine',
      { channels: { a: { type: 'slack', urlFile: fileWith('http://example.com/x') } } },
      /needs a URL with https/,
    ],
    [
      'a password with a % that encodes nothing',
      { channels: { a: { type: 'slack', urlFile: fileWith('https://ana:50%@example.com/x') } } },
      /alerts\.channels\.a needs a URL whose user and password write a literal % as %25/,
    ],
    [
      'a rule for an unknown channel',
      { channels: { team: channels.team }, rules: [{ ...rule, to: 'them' }] },
      /alerts\.rules\[0\]\.to needs one of team/,
    ],
    [
      'a rule without a name',
      { channels: { team: channels.team }, rules: [{ to: 'team' }] },
      /rules\[0\]\.name needs a text/,
    ],
    [
      'two rules of one name',
      { channels: { team: channels.team }, rules: [rule, rule] },
      /rules\[1\]\.name needs another name/,
    ],
    [
      'a score without a threshold',
      { channels: { team: channels.team }, rules: [{ ...rule, when: { kind: 'score' } }] },
      /needs below or by/,
    ],
    [
      'a dimension of another kind than scores',
      { channels: { team: channels.team }, rules: [{ ...rule, when: { kind: 'test', dimension: 'freshness' } }] },
      /needs the kind score/,
    ],
    [
      'a duration without a unit',
      { channels: { team: channels.team }, rules: [{ ...rule, remind: '3' }] },
      /remind needs a number with its unit/,
    ],
  ];
  test.each(cases)('%s is refused before any request', async (_, alerts, message) => {
    const options = ['--base-url', 'http://127.0.0.1:1', '--config', configFile({ alerts })];
    const refused = await obsync(['sync', ...options], { env: { OBSYNC_TOKEN: 'a-token' } });
    expect(refused).toMatchObject(refusal(message));
    expect(refused.stderr).not.toContain('example.com/x');
  });
});
