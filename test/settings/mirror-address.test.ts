import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { withoutPasswords } from '../../src/cli/program.ts';
import type { PostgresAddress } from '../../src/destination/postgres/address.ts';
import {
  addressOf,
  containsPassword,
  givenAddress,
  givenFile,
  warningsOfAddresses,
} from '../../src/settings/addresses/mirror-address.ts';
import { OptionError } from '../../src/settings/option-error.ts';
import { CA_FILE } from '../support/tls-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'obsync-address-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const CA = readFileSync(CA_FILE, 'utf8');

/** Hides the variables and files of the machine that runs the test. */
const bare = { HOME: folder };

function postgres(text: string, env: NodeJS.ProcessEnv = bare): PostgresAddress {
  const address = addressOf(text, env);
  if (address.kind !== 'postgres') throw new Error(`${text} is a file`);
  return address;
}

const passwordOf = ({ client }: PostgresAddress): unknown => (client.password as () => unknown)();

describe('the address of a mirror', () => {
  test('it is a path unless it is a URL', () => {
    for (const path of ['obsync.db', './postgres.db', '/data/m.db', 'C:\\m.db', 'a b.db'])
      expect(addressOf(path, bare)).toEqual({ kind: 'file', path, display: path });
  });

  test('spaces around an address do not count, as for SQLite, and it is never in memory', () => {
    expect(postgres(' postgres://ann:zX9@h/q\r\n')).toMatchObject({ client: { host: 'h', database: 'q' } });
    expect(containsPassword(' postgres://ann:zX9@h/q')).toBe(true);
    for (const given of [' m.db', 'm.db ', 'm.db\r\n'])
      expect(addressOf(given, bare)).toEqual({ kind: 'file', path: 'm.db', display: 'm.db' });
    for (const given of ['', ' ', ':memory:', ' :memory: '])
      expect(() => addressOf(given, bare)).toThrow('is not a file name: pass a path, such as obsync.db');
  });

  test('in PostgreSQL it defaults to the values of PostgreSQL’s own programs, and to the schema obsync', () => {
    const user = userInfo().username;
    expect(postgres('postgres://')).toMatchObject({
      schema: 'obsync',
      display: `postgres://${user}@localhost:5432/${user}?schema=obsync`,
      client: { host: 'localhost', port: 5432, user, database: user, ssl: false, application_name: 'obsync' },
    });
  });

  test.each([
    ['postgres://ann@db.example:6000/quality', { host: 'db.example', port: 6000, user: 'ann', database: 'quality' }],
    ['postgresql://db.example/quality?user=ann&port=6000', { host: 'db.example', port: 6000, user: 'ann' }],
    ['POSTGRES://a%40b@[::1]/x%20y', { host: '::1', user: 'a@b', database: 'x y' }],
    ['postgres://ann@%2Fvar%2Frun%2Fpostgresql/q', { host: '/var/run/postgresql', database: 'q' }],
    ['postgres:///q?host=/var/run/postgresql', { host: '/var/run/postgresql', database: 'q' }],
    ['postgres://ann@/q', { host: 'localhost', user: 'ann', database: 'q' }],
    ['postgres://ann@:6000/q', { host: 'localhost', port: 6000 }],
    ['postgres://ann@h', { database: 'ann' }],
    ['postgres://h/q?application_name=nightly&connect_timeout=5', { application_name: 'nightly' }],
    ['postgres://h/q?connect_timeout=5', { connectionTimeoutMillis: 5000 }],
    ['postgres://h/q?sslmode=require&channel_binding=require', { enableChannelBinding: true }],
    ['postgres://h/q?sslrootcert=system&channel_binding=require', { enableChannelBinding: true }],
    ['postgres://h/q?application_name=a+b', { application_name: 'a+b' }],
    ['postgres://h/q?options=-c%20work_mem%3D64MB', { options: '-c work_mem=64MB' }],
  ])('%s is parsed like in PostgreSQL’s own programs', (text, client) => {
    expect(postgres(text).client).toMatchObject(client);
  });

  test('tcp_user_timeout limits how long an answer may be overdue, and 0 means the default', () => {
    expect(postgres('postgres://h/q?tcp_user_timeout=5000')).toMatchObject({ answerTimeoutMs: 5000 });
    expect(postgres('postgres://h/q?tcp_user_timeout=0').answerTimeoutMs).toBe(undefined);
  });

  test('missing parts come from the service that it names, then from PostgreSQL’s variables', () => {
    const PGSERVICEFILE = file(
      'services',
      '# ours\n[other]\nhost=no\n\n[nightly]\nhost=of-service\nuser=sue\ndbname=q\n[last]\nport=1',
    );
    const env = { ...bare, PGSERVICEFILE, PGHOST: 'of-variable', PGPORT: '7000', PGUSER: 'of-variable' };
    expect(postgres('postgres://ann@?service=nightly', env).client).toMatchObject({
      user: 'ann',
      host: 'of-service',
      port: 7000,
      database: 'q',
    });
    expect(postgres('postgres://', { ...env, PGSERVICE: 'nightly' }).client).toMatchObject({ user: 'sue' });
    expect(postgres('postgres://', env).client).toMatchObject({ host: 'of-variable', user: 'of-variable' });
  });

  test('the user’s service file takes precedence over the machine’s', () => {
    const home = mkdtempSync(join(folder, 'home-'));
    writeFileSync(join(home, '.pg_service.conf'), '[a]\nhost=of-user\n');
    writeFileSync(join(home, 'pg_service.conf'), '[a]\nhost=no\n[b]\nhost=of-machine\n');
    const env = { HOME: home, PGSYSCONFDIR: home };
    expect(postgres('postgres://?service=a', env).client.host).toBe('of-user');
    expect(postgres('postgres://?service=b', env).client.host).toBe('of-machine');
    expect(() => postgres('postgres://?service=c', env)).toThrow(
      /the service c is unknown: it is not in .*\.pg_service/,
    );
    expect(() => postgres('postgres://?service=c')).toThrow('there is no service file: set PGSERVICEFILE');
  });

  test('a service file with unsupported parameters is refused without repeating any line', () => {
    const env = (text: string) => ({ ...bare, PGSERVICEFILE: file('odd', text) });
    expect(() => postgres('postgres://?service=a', env('[a]\nldap://x'))).toThrow(/has a line that is not name=value/);
    expect(() => postgres('postgres://?service=a', env('[a]\nhots=x'))).toThrow(/has the parameter hots, which/);
  });
});

describe('the password of an address', () => {
  const lines = [
    '# *:*:*:*:of a comment',
    'h:5432:q:bob:of bob',
    'h:*:q:ann:colon\\:and\\\\more',
    'localhost:*:*:*:of a socket',
    '*:*:other:*:a:b',
  ].join('\n');

  test('it comes from the address, the service, PGPASSWORD or the password file, in this order', () => {
    const HOME = mkdtempSync(join(folder, 'home-'));
    writeFileSync(join(HOME, '.pgpass'), lines, { mode: 0o600 });
    writeFileSync(join(HOME, '.pg_service.conf'), '[s]\npassword=of-service\n');
    const env = { HOME, PGPASSWORD: 'of-variable' };
    expect(passwordOf(postgres('postgres://ann:of-url@h/q?service=s', env))).toBe('of-url');
    expect(passwordOf(postgres('postgres://ann@h/q?password=of-url', env))).toBe('of-url');
    expect(passwordOf(postgres('postgres://ann@h/q?service=s', env))).toBe('of-service');
    expect(passwordOf(postgres('postgres://ann@h/q', env))).toBe('of-variable');
    expect(passwordOf(postgres('postgres://ann@h/q', { HOME }))).toBe('colon:and\\more');
  });

  test('it is that of the first matching line of the password file', () => {
    const env = { ...bare, PGPASSFILE: file('pgpass', lines) };
    expect(passwordOf(postgres('postgres://bob@h/q', env))).toBe('of bob');
    expect(passwordOf(postgres('postgres://bob@h/other', env))).toBe('a:b');
    expect(passwordOf(postgres('postgres://bob@%2Frun/q', env))).toBe('of a socket');
    expect(() => passwordOf(postgres('postgres://bob@h:1/q', env))).toThrow(
      'postgres://bob@h:1/q?schema=obsync requires a password: set PGPASSWORD',
    );
  });

  test('channel_binding=require is refused where the connection may not be encrypted', () => {
    for (const more of ['', '&sslmode=prefer', '&sslmode=disable', '&sslmode=require&host=/run/postgresql'])
      expect(() => postgres(`postgres:///q?channel_binding=require${more}`)).toThrow('needs an encrypted connection');
  });

  test('a password file that others can read is refused', () => {
    const PGPASSFILE = file('open', lines, 0o640);
    expect(() => passwordOf(postgres('postgres://bob@h/q', { ...bare, PGPASSFILE }))).toThrow(
      `the password file ${PGPASSFILE} can be read by other users: run chmod 600 ${PGPASSFILE}`,
    );
  });

  test('the file of --db-file may contain it, with the whole address', () => {
    const dbFile = file('address', 'postgres://ann:secret@h/q?schema=night\n');
    expect(givenAddress({ dbFile })).toBe('postgres://ann:secret@h/q?schema=night');
    expect(() => givenAddress({ db: 'x.db', dbFile })).toThrow('two mirrors, one in --db and one in the file');
    expect(() => givenAddress({ dbFile: file('empty', ' \n') })).toThrow(
      'is empty: write the address of the mirror into it',
    );
    expect(() => givenAddress({ dbFile: join(folder, 'none') })).toThrow('cannot be read');
    expect(() => givenFile({ dbFile }, 'serve')).toThrow(
      'serve needs a mirror in a file, and postgres://ann@h:5432/q?schema=night is in PostgreSQL: create one with `obsync copy --to FILE` and name it with --db',
    );
  });

  test('it is detected in every form of an address', () => {
    for (const text of [
      'postgres://u:p@h',
      'postgres://:p@h',
      'postgres://h?password=p',
      'postgres://u:p@/q',
      'postgresql://u:@h:1?password=p',
    ])
      expect(containsPassword(text)).toBe(true);
    for (const text of ['postgres://u@h', 'postgres://h:1/q', 'm.db', 'postgres://u:@h'])
      expect(containsPassword(text)).toBe(false);
  });

  /** Passwords with any characters, including URL delimiters. */
  const secrets = fc
    .string({ minLength: 6, unit: fc.constantFrom(...'qQ7:@/?#%&=\\"\' +é$') })
    .map((text) => `zX9${text}`);
  const said = (text: string): string => {
    try {
      const address = addressOf(text, bare);
      const config = inspect(address, { depth: 9, showHidden: true });
      return `${config}${JSON.stringify(address)}${address.display}`;
    } catch (error) {
      return inspect(error, { depth: 9, showHidden: true });
    }
  };

  test('it never appears when an address or its refusal is printed', () => {
    fc.assert(
      fc.property(secrets, fc.constantFrom('postgres', 'postgresql', 'mysql'), (secret, scheme) => {
        const encoded = encodeURIComponent(secret);
        for (const text of [
          `${scheme}://ann:${encoded}@h/q`,
          `${scheme}://h/q?password=${encoded}`,
          `${scheme}://ann:${encoded}@h:0/q`,
          `${scheme}://ann:${encoded}@h/q?schema=No`,
          `${scheme}://ann:${encoded}@h/q?sslmode=odd`,
          `postgres:/ann:${encoded}@h/q`,
        ])
          expect(said(text)).not.toMatch(/zX9/);
      }),
    );
  });

  test('it never appears in a refusal if it is not encoded, even where it looks like another part of the address', () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        for (const password of [secret, `12/${secret}`, `12?${secret}`, `12#${secret}`]) {
          const text = `postgres://ann:${password}@h/q`;
          expect(said(text)).not.toMatch(/zX9/);
          if (/[ /?#]/.test(password)) expect(() => addressOf(text, bare)).toThrow();
        }
      }),
    );
  });

  test('it is masked in texts that repeat what a user typed', () => {
    expect(withoutPasswords('unknown command: postgres://ann:s3cr3t@h/q?x=1')).toBe(
      'unknown command: postgres://ann:***@h/q?x=1',
    );
    expect(withoutPasswords('postgres://h/q?user=ann&password=s3&x=1 and more')).toBe(
      'postgres://h/q?user=ann&password=***&x=1 and more',
    );
    expect(withoutPasswords('https://host:8080/path has no secret')).toBe('https://host:8080/path has no secret');
  });
});

describe('an invalid address', () => {
  test.each([
    ['postgres:h/q', 'write it as postgres://user@host:port/database?schema=name'],
    ['postgres://a:1,b:2/q', 'write it as postgres://'],
    ['postgres://h/q/r', 'write it as postgres://'],
    ['postgres://%zz@h/q', 'write it as postgres://'],
    ['mysql://u:p@h/q', 'a mirror is a file or in PostgreSQL, not mysql://…'],
    ['host=h password=p dbname=q', 'an address in PostgreSQL is a URL'],
    ['postgres://h/q?schem=x', 'an unknown parameter: schem, did you mean schema?'],
    ['postgres://h/q?schema=a&schema=b', 'gives schema more than once'],
    ['postgres://h:0/q', 'the port of the mirror in PostgreSQL is not valid'],
    ['postgres://h/q?connect_timeout=x', 'connect_timeout needs a whole number of seconds'],
    ['postgres://h/q?tcp_user_timeout=1.5', 'tcp_user_timeout needs a whole number of milliseconds'],
    ['postgres://h/q?sslmode=on', 'sslmode is not valid: choose one of disable, allow'],
    ['postgres://h/q?sslmode=verify-ca', 'sslmode=verify-ca needs sslrootcert=FILE'],
    ['postgres://h/q?sslmode=require&sslrootcert=system', 'sslrootcert=system needs sslmode=verify-full'],
    ['postgres://h/q?sslmode=require&sslrootcert=none.pem', 'none.pem cannot be read'],
    [`postgres://h/q?sslmode=require&sslrootcert=${import.meta.filename}`, 'contains no certificate'],
    [`postgres://h/q?sslmode=verify-ca&sslrootcert=${file('cut.pem', CA.slice(0, -300))}`, 'is damaged: copy it again'],
    [`postgres://h/q?sslmode=verify-full&sslrootcert=${file('two.pem', CA.slice(0, -300) + CA)}`, 'is damaged'],
    ['postgres://h/q?target_session_attrs=standby', 'target_session_attrs is not supported'],
  ])('%s is refused, and the message says what to write instead', (text, line) => {
    expect(() => addressOf(text, bare)).toThrow(line);
    try {
      addressOf(text, bare);
    } catch (error) {
      expect(error).toMatchObject({ recovery: 'usage' });
    }
  });

  test('a schema that is not a plain lower-case name is refused', () => {
    for (const schema of ['', 'A', '1a', 'a-b', 'pg_x', 'information_schema', 'ä', 'a'.repeat(64)])
      expect(() => addressOf(`postgres://h/q?schema=${encodeURIComponent(schema)}`, bare)).toThrow(
        'the schema of the mirror is not valid',
      );
    for (const schema of ['a', '_a1', 'a'.repeat(63)])
      expect(postgres(`postgres://h/q?schema=${schema}`)).toMatchObject({ schema });
  });

  test('the error names the option that contained it', () => {
    expect(() => givenAddress({ db: 'postgres:x' })).toThrow(OptionError);
    expect(() => givenAddress({ dbFile: file('bad', 'postgres:x') })).toThrow(OptionError);
  });
});

describe('the encryption of a PostgreSQL connection', () => {
  const pem = file('ca.pem', 'a certificate');
  test.each([
    ['', false],
    ['sslmode=disable', false],
    ['sslmode=prefer', false],
    ['sslmode=require', { rejectUnauthorized: false }],
    ['sslmode=verify-full', {}],
    ['sslrootcert=system', {}],
    [`sslmode=verify-full&sslrootcert=${CA_FILE}`, { ca: CA }],
    [`sslmode=verify-full&sslcert=${pem}&sslkey=${pem}`, { cert: 'a certificate', key: 'a certificate' }],
  ])('"%s" means the same as in PostgreSQL’s own programs', (parameters, ssl) => {
    expect(postgres(`postgres://h/q?${parameters}`).client.ssl).toEqual(ssl);
  });

  test.each(['require', 'verify-ca'])(
    'sslmode=%s with a root certificate checks the signer, not the host name',
    (mode) => {
      const { ssl } = postgres(`postgres://h/q?sslmode=${mode}&sslrootcert=${CA_FILE}`).client;
      expect(ssl).toEqual({ ca: CA, checkServerIdentity: expect.any(Function) });
    },
  );

  test.each([
    ['postgres://db.example/q', true],
    ['postgres://db.example/q?sslmode=prefer', true],
    ['postgres://10.0.0.1/q?sslmode=allow', true],
    ['postgres:///q?host=db.example', true],
    ['postgres://db.example/q?sslmode=disable', false],
    ['postgres://db.example/q?sslmode=require', false],
    ['postgres://db.example/q?sslmode=verify-full', false],
    ['postgres://db.example/q?sslrootcert=system', false],
    ['postgres://127.0.0.1/q', false],
    ['postgres://localhost/q', false],
    ['postgres://[::1]/q', false],
    ['postgres:///q', false],
    ['postgres://%2Frun/q', false],
    ['postgres://db.example/q?odd=1', false],
    ['mirror.db', false],
  ])('an unencrypted connection to %s causes one warning: %s', (given, isWarned) => {
    const warnings = warningsOfAddresses([given, given], bare);
    expect(warnings).toEqual(isWarned ? [expect.stringMatching(/^the connection to \S+ is not encrypted: /)] : []);
  });

  test('PostgreSQL’s variables also set the password, and a local socket needs none', () => {
    expect(postgres('postgres://h', { ...bare, PGSSLMODE: 'require' }).client.ssl).toEqual({
      rejectUnauthorized: false,
    });
    expect(postgres('postgres://%2Frun/q', { ...bare, PGSSLMODE: 'require' }).client.ssl).toBe(false);
  });
});
