import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { Client, DatabaseError } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SyncError } from '../../../src/core/errors.ts';
import { isTransient } from '../../../src/destination/postgres/lost-connection.ts';
import {
  connectError,
  refuseOldServer,
  serverError,
  sqlStateOf,
} from '../../../src/destination/postgres/server-error.ts';
import { postgresAddress } from '../../../src/settings/addresses/postgres-address.ts';
import { parsePostgresUrl } from '../../../src/settings/addresses/postgres-url.ts';
import { startServer } from '../../support/postgres/server.ts';
import { transactionPooler } from '../../support/postgres/transaction-pooler.ts';
import { postgresServer, testSchema } from '../../support/postgres.ts';

const AT = 'postgres://ann@h:5432/q?schema=obsync';

function ofServer(code: string, message = 'what the server says'): DatabaseError {
  return Object.assign(new DatabaseError(message, message.length, 'error'), { code });
}

const ofSocket = (code: string): Error => Object.assign(new Error('connect'), { code });

describe('an error of PostgreSQL', () => {
  test.each([
    ['08006', 'run', 'lost a connection (what the server says)'],
    ['08P01', 'usage', 'refused how obsync connects: set pool_mode = transaction'],
    ['25006', 'usage', 'is read-only: name the primary server'],
    ['28000', 'usage', 'refused the login'],
    ['28P01', 'usage', 'refused the password'],
    ['3D000', 'usage', 'has no such database: create it'],
    ['40001', 'run', 'had a conflict'],
    ['40P01', 'run', 'had a conflict'],
    [
      '42501',
      'usage',
      'refused for lack of permission (what the server says): to read, grant the user USAGE on the schema',
    ],
    ['42P01', 'usage', 'holds no mirror: run `obsync sync`'],
    ['53100', 'run', 'has no room left on its disk: make room'],
    ['53200', 'run', 'is out of memory'],
    ['53300', 'run', 'has too many connections'],
    ['53400', 'run', 'has run out of a resource'],
    ['55P03', 'run', 'is locked by another program'],
    ['57014', 'run', 'cancelled a statement that took too long'],
    ['57P01', 'run', 'ended the connection, because an administrator stopped it'],
    ['57P03', 'run', 'accepts no connections while it starts or stops'],
    ['58030', 'run', 'could not read or write its files'],
    ['XX000', 'run', 'had an internal error (what the server says)'],
    ['XX001', 'run', 'reports damaged data'],
    ['42601', 'run', 'refused a statement: what the server says (SQLSTATE 42601)'],
  ])('SQLSTATE %s becomes one line that says what to do', (code, recovery, line) => {
    const cause = ofServer(code);
    const error = serverError(AT, cause);
    expect(error).toMatchObject({ recovery, cause, message: expect.stringContaining(`${AT} ${line}`) });
    expect(connectError(AT, cause)).toMatchObject({ recovery });
    expect(sqlStateOf(cause)).toBe(code);
  });

  test.each([
    ['ECONNREFUSED', 'run', 'nothing listens there'],
    ['ECONNRESET', 'run', 'lost the connection'],
    ['ENOTFOUND', 'usage', 'the host name does not exist'],
    ['EAI_AGAIN', 'run', 'the name server does not answer'],
    ['ETIMEDOUT', 'run', 'does not answer'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'usage', 'a self-signed certificate'],
    ['CERT_HAS_EXPIRED', 'usage', 'an expired certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'usage', 'a certificate for another host'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'usage', 'over TLS (ERR_SSL_WRONG_VERSION_NUMBER)'],
  ])('socket error %s becomes one line that says what to do', (code, recovery, line) => {
    for (const turned of [serverError(AT, ofSocket(code)), connectError(AT, ofSocket(code))])
      expect(turned).toMatchObject({ recovery, message: expect.stringContaining(line) });
    expect(sqlStateOf(ofSocket(code))).toBeNull();
  });

  test('a node of Citus that is lost is named with what the server says, and the transaction is retried', () => {
    const node = Object.assign(ofServer('XX000', 'server closed the connection unexpectedly\n\tIt probably crashed.'), {
      where: 'while executing command on 10.0.0.7:5432\nand more',
    });
    expect(serverError(AT, node)).toMatchObject({
      recovery: 'run',
      message: `${AT} had an internal error (server closed the connection unexpectedly, while executing command on 10.0.0.7:5432): check the log of that server, and run again; nothing is lost`,
    });
    const refused = ofServer('08006', 'connection to the remote node ann@10.0.0.7:5432 failed');
    expect(serverError(AT, refused)).toMatchObject({
      message: `${AT} lost a connection (connection to the remote node ann@10.0.0.7:5432 failed): check that server and the network, and run again; nothing is lost`,
    });
    expect([node, refused, ofServer('XX001')].map(isTransient)).toEqual([true, true, false]);
  });

  test('the code is found inside the error that wraps it', () => {
    const wrapped = new Error('Failed query', { cause: ofServer('53100') });
    expect(serverError(AT, wrapped)).toMatchObject({
      message: expect.stringContaining('no room left'),
      cause: wrapped,
    });
    expect(sqlStateOf(wrapped)).toBe('53100');
  });

  test('an error without a code means that the connection was lost or could not be opened', () => {
    expect(serverError(AT, new Error('Connection terminated'))).toMatchObject({
      recovery: 'run',
      message: expect.stringContaining('lost the connection'),
    });
    expect(connectError(AT, new Error('timeout expired'))).toMatchObject({
      recovery: 'run',
      message: `${AT} cannot be connected to: timeout expired`,
    });
  });

  test('errors of the program are not translated, and no error is translated twice', () => {
    for (const other of [
      new TypeError('x'),
      new SyncError('locked', 'x'),
      'x',
      null,
      ofSocket('ERR_INVALID_ARG_TYPE'),
    ]) {
      expect(serverError(AT, other)).toBe(other);
      expect(connectError(AT, other)).toBe(other);
    }
  });

  test('a server that is too old is refused with the version needed', () => {
    expect(() => refuseOldServer(AT, 120_022)).toThrow(`${AT} runs PostgreSQL 12: obsync needs version 13 or later`);
    expect(() => refuseOldServer(AT, 130_000)).not.toThrow();
  });
});

describe('the message of a real server error', () => {
  /** Connects to the address. @returns the error as the user sees it */
  async function connected(url: string, work: (client: Client) => Promise<unknown> = async () => {}): Promise<unknown> {
    const { client: config, display } = postgresAddress(parsePostgresUrl(url), {});
    const client = new Client(config);
    client.on('error', () => {});
    try {
      await client.connect();
    } catch (error) {
      // A client that has no password to send leaves its connection open, and the server waits for it.
      await client.end();
      return connectError(display, error);
    }
    try {
      return await work(client);
    } catch (error) {
      return serverError(display, error);
    } finally {
      await client.end();
    }
  }

  function changed(url: string, change: (url: URL) => void): string {
    const other = new URL(url);
    change(other);
    return other.href;
  }

  test('a refused password, user or database is named, and no password is shown', async () => {
    const url = await postgresServer();
    const secret = 'zX9-wrong';
    const refusals: [string, string][] = [
      [changed(url, (to) => Object.assign(to, { password: secret })), 'refused the password'],
      [changed(url, (to) => Object.assign(to, { username: 'nobody', password: secret })), 'refused the password'],
      [changed(url, (to) => Object.assign(to, { pathname: '/none' })), 'has no such database'],
    ];
    for (const [address, line] of refusals) {
      const error = await connected(address);
      expect(error).toMatchObject({ recovery: 'usage', message: expect.stringContaining(line) });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret);
    }
  });

  test('a server without encryption, or one that asks for a missing password, is named', async () => {
    const url = await postgresServer();
    expect(await connected(changed(url, (to) => to.searchParams.set('sslmode', 'require')))).toMatchObject({
      message: expect.stringMatching(/cannot be connected to: .*SSL/),
    });
    expect(await connected(changed(url, (to) => Object.assign(to, { password: '' })))).toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('requires a password: set PGPASSWORD'),
    });
  });

  test('a server that is down, or that doesn’t speak PostgreSQL, is named', async () => {
    expect(await connected('postgres://u:p@127.0.0.1:1/q')).toMatchObject({
      message: expect.stringContaining('nothing listens there'),
    });
    const silent = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    expect(await connected(`postgres://u:p@127.0.0.1:${port}/q`)).toMatchObject({ recovery: 'run' });
  });

  test('missing rights, a statement that takes too long, and a read-only server are named', async () => {
    const place = await testSchema();
    onTestFinished(() => place.drop());
    await place.ask(`create schema ${place.schema}`);
    const asked = (sql: string) => connected(place.serverUrl, (client) => client.query(sql));
    const role = `${place.schema}_reader`;
    await place.ask(`create role ${role} login password 'x'`);
    onTestFinished(async () => void (await place.ask(`drop role ${role}`)));
    const reader = changed(place.serverUrl, (to) => Object.assign(to, { username: role, password: 'x' }));
    expect(await connected(reader, (client) => client.query(`create table ${place.schema}.t (x int)`))).toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('refused for lack of permission'),
    });
    expect(await asked('set statement_timeout = 1; select pg_sleep(60)')).toMatchObject({
      message: expect.stringContaining('took too long'),
    });
    expect(await asked(`begin read only; create table ${place.schema}.t (x int)`)).toMatchObject({
      message: expect.stringContaining('is read-only'),
    });
    expect(await asked('select * from nothing_here')).toMatchObject({
      message: expect.stringContaining('holds no mirror'),
    });
  });

  test('a server that stops during a statement, and a pooler that refuses the connection, are named', async () => {
    const server = await startServer();
    onTestFinished(() => server.remove());
    const error = await connected(server.url, async (client) => {
      const [result] = await Promise.allSettled([client.query('select pg_sleep(600)'), server.stop()]);
      if (result.status === 'rejected') throw result.reason;
    });
    expect(error).toMatchObject({ recovery: 'run', message: expect.stringMatching(/run again/) });
    const pooler = await transactionPooler(await postgresServer());
    onTestFinished(() => pooler.close());
    expect(
      await connected(changed(pooler.url, (to) => to.searchParams.set('options', '-c work_mem=4MB'))),
    ).toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('set pool_mode = transaction'),
    });
  });
});
