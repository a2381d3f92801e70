import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withSchema } from '../../src/api/accounts-database.ts';
import { openStore } from '../../src/api/open-store.ts';
import { addAccount, listAccounts, removeAccount } from '../../src/index.ts';
import { testDatabase } from '../support/postgres/database.ts';
import { transactionPooler } from '../support/postgres/transaction-pooler.ts';
import { apiServer, folder, obsync, refusal, TOKEN } from './setup.ts';

async function setUp() {
  const database = await testDatabase();
  const env = { OBSYNC_DB: database.url, SHOP_TOKEN: TOKEN };
  return { ...database, env, accounts: (...args: string[]) => obsync(['accounts', ...args], { env }) };
}

const SERVICE = ['--base-url', 'https://api.example.com/public/beta/'];
const SHOP = ['shop', ...SERVICE, '--token-env', 'SHOP_TOKEN'];

describe('obsync accounts', () => {
  test('it adds, lists, changes and removes accounts, each with its own schema', async () => {
    const { accounts } = await setUp();
    expect(await accounts('list')).toMatchObject({ code: 0, stdout: expect.stringContaining('there are no accounts') });
    expect(await accounts('add', ...SHOP)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('the schema obsync_shop'),
    });
    const rest = [
      '--token-file',
      '/etc/obsync/token',
      '--cron',
      '0 6 * * *',
      '--history',
      '--env',
      'Prod,Dev',
      '--json',
    ];
    const added = await accounts('add', 'Käse-Co', ...SERVICE, ...rest);
    expect(JSON.parse(added.stdout)).toEqual({
      account: 'Käse-Co',
      base_url: 'https://api.example.com',
      token_env: null,
      token_file: '/etc/obsync/token',
      schema: 'obsync_kase_co',
      cron: '0 6 * * *',
      delay: 600,
      options: { env: ['Prod,Dev'], history: true },
      replaced: false,
    });
    const { accounts: all } = JSON.parse((await accounts('list', '--json')).stdout);
    expect(all).toMatchObject([
      { account: 'Käse-Co', environments: null, error: null, added_at: expect.stringMatching(/^\d{4}-.*Z$/) },
      { account: 'shop', token_env: 'SHOP_TOKEN', token_file: null, options: {} },
    ]);
    expect(await accounts('add', ...SHOP)).toEqual(
      refusal(/the account shop already exists: change it with --replace/),
    );
    const changed = await accounts('add', ...SHOP, '--cron', '30 * * * *', '--replace');
    expect(changed.stdout).toContain('account shop changed');
    expect((await accounts('list')).stdout).toMatch(/shop .*SHOP_TOKEN.*obsync_shop.*30 \* \* \* \*.*not listed yet/);
    expect((await accounts('remove', 'Käse-Co')).stdout).toContain('its mirror stays in the schema obsync_kase_co');
    expect(await accounts('remove', 'Käse-Co')).toEqual(refusal(/there is no account Käse-Co/));
  });

  test('it stores no token, and refuses one given instead of its variable without repeating it (R25)', async () => {
    const { accounts, ask } = await setUp();
    await accounts('add', ...SHOP);
    const mistaken = await accounts('add', 'other', ...SERVICE, '--token-env', TOKEN);
    expect(mistaken).toEqual(refusal(/--token-env needs the name of a variable, in capitals/));
    expect(mistaken.stderr).not.toContain(TOKEN);
    const [row] = await ask('select string_agg(a::text, chr(10)) as kept from obsync_accounts.accounts a');
    expect(row?.['kept']).toContain('SHOP_TOKEN');
    expect(row?.['kept']).not.toContain(TOKEN);
  });

  const REFUSED: [string, string[], RegExp][] = [
    ['a missing name', ['add', ...SERVICE, '--token-env', 'A'], /no account name: write it after the action/],
    ['a name with a leading blank', ['add', ' x', ...SERVICE], /the account name is invalid/],
    ['a missing token place', ['add', 'a', ...SERVICE], /an account needs exactly one token location/],
    [
      'two token places',
      ['add', 'a', ...SERVICE, '--token-env', 'A', '--token-file', 'f'],
      /an account needs exactly one token location/,
    ],
    ['a missing base URL', ['add', 'a', '--token-env', 'A'], /no base URL/],
    ['a base URL with plain http', ['add', 'a', '--base-url', 'http://x.example', '--token-env', 'A'], /plain http/],
    ['an invalid schema name', ['add', ...SHOP, '--schema', 'Shop!'], /the schema of the mirror is not valid/],
    [
      'the schema of the accounts',
      ['add', ...SHOP, '--schema', 'obsync_accounts'],
      /obsync uses the schema obsync_accounts itself/,
    ],
    [
      'a name that yields no schema name',
      ['add', '日本', ...SERVICE, '--token-env', 'A'],
      /cannot derive a schema name from/,
    ],
    ['the schema public', ['add', ...SHOP, '--schema', 'public'], /any program may use the schema public/],
    [
      'a variable that contains the database’s password',
      ['add', 'a', ...SERVICE, '--token-env', 'PGPASSWORD'],
      /a secret of the database/,
    ],
    [
      'the variable of the database’s address as the token',
      ['add', 'a', ...SERVICE, '--token-env', 'OBSYNC_DB'],
      /a secret of the database/,
    ],
    ['a name after list', ['list', 'shop'], /accounts list takes no name/],
    ['an invalid cron expression', ['add', ...SHOP, '--cron', 'often'], /--cron often is not a cron expression/],
    [
      'an invalid page size',
      ['add', ...SHOP, '--page-size', '3000'],
      /--page-size needs a whole number from 1 to 2000/,
    ],
    ['an unknown action', ['delete', 'shop'], /unknown action delete of accounts: use one of add, list, remove, test/],
  ];
  test('it refuses what it cannot keep in one line, and exits 2', async () => {
    const { accounts } = await setUp();
    for (const [what, args, line] of REFUSED) expect(await accounts(...args), what).toEqual(refusal(line));
  });

  test('reading accounts creates nothing', async () => {
    const { accounts, ask, env } = await setUp();
    expect((await accounts('list')).stdout).toContain('there are no accounts');
    expect((await obsync(['status', '--all'], { env })).stdout).toBe('0 accounts, 0 environments, 0 workers\n');
    expect(await accounts('test', 'shop')).toEqual(refusal(/there is no account shop/));
    expect(await ask("select nspname from pg_namespace where nspname like 'obsync%'")).toEqual([]);
  });

  test('add says where workers look for the token: the file by its absolute path, or the variable if it is not set here', async () => {
    const { accounts } = await setUp();
    const file = await accounts('add', 'a', ...SERVICE, '--token-file', 'token.txt');
    expect(file.stdout).toMatch(/each worker reads its token from \S+[/]token\.txt/);
    const variable = await accounts('add', 'b', ...SERVICE, '--token-env', 'NOT_SET_HERE');
    expect(variable.stdout).toContain('the variable NOT_SET_HERE is not set here');
    expect((await accounts('add', ...SHOP)).stdout).not.toContain('is not set here');
  });

  test('add refuses the schema of another account', async () => {
    const { accounts } = await setUp();
    await accounts('add', ...SHOP);
    expect(await accounts('add', 'other', ...SERVICE, '--token-env', 'A', '--schema', 'obsync_shop')).toEqual(
      refusal(/account shop already uses the schema obsync_shop: name another one with --schema/),
    );
  });

  test('a mirror file and an unreachable server are each refused in one line', async () => {
    expect(await obsync(['accounts'], { env: {} })).toEqual(refusal(/accounts are kept in PostgreSQL/));
    const { code, stderr } = await obsync(['accounts', 'list', '--db', 'postgres://127.0.0.1:1/none']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^obsync: postgres:\S+ cannot be reached[^\n]*\n$/);
  });

  test('test sends one request with the account’s token, and says what the service lists and when each is synced', async () => {
    const { accounts } = await setUp();
    const listed = [
      { id: 'e1', name: 'Production', cron: '0 6 * * *' },
      { id: 'e2', name: 'Staging', cron: null },
    ];
    const api = await apiServer({ body: listed });
    await accounts('add', 'shop', '--base-url', api.url, '--token-env', 'SHOP_TOKEN', '--env', 'Production');
    const { code, stdout } = await accounts('test', 'shop', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      account: 'shop',
      environments: [
        {
          env_id: 'e1',
          environment: 'Production',
          wanted: true,
          next_run: expect.stringMatching(/T06:10:00\.000000Z$/),
        },
        { env_id: 'e2', wanted: false, next_run: null },
      ],
      unknown: [],
    });
    expect(api.requests.map(({ headers }) => headers['authorization'])).toEqual([`Bearer ${TOKEN}`]);
    expect((await accounts('test', 'shop')).stdout).toMatch(/lists 2 environments for account shop/);
  });

  test('test exits 1 if nothing would be synced, 2 without the token and 3 if it is refused, and never prints the token', async () => {
    const { accounts, env } = await setUp();
    const refused = { status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } };
    const api = await apiServer({ body: [] }, { body: [{ id: 'e1', name: 'E', cron: null }] }, refused);
    await accounts('add', 'shop', '--base-url', api.url, '--token-env', 'SHOP_TOKEN');
    expect(await accounts('test', 'shop')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('check the permissions'),
    });
    expect(await accounts('test', 'shop')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('never: no cron expression'),
    });
    expect(await accounts('test', 'shop')).toMatchObject({ code: 3, stderr: expect.not.stringContaining(TOKEN) });
    expect(await obsync(['accounts', 'test', 'shop'], { env: { ...env, SHOP_TOKEN: '' } })).toEqual(
      refusal(/the variable SHOP_TOKEN with the token of account shop is not set/),
    );
    expect(await accounts('test', 'nobody')).toEqual(refusal(/there is no account nobody/));
  });

  test('test reads the token from a file if one is named', async () => {
    const { accounts } = await setUp();
    const file = join(folder(), 'token');
    writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
    const api = await apiServer({ body: [{ id: 'e1', name: 'E', cron: null }] });
    await accounts('add', 'shop', '--base-url', api.url, '--token-file', file);
    expect((await accounts('test', 'shop')).stdout).toContain('never: no cron expression');
    expect(api.requests[0]?.headers['authorization']).toBe(`Bearer ${TOKEN}`);
  });

  test('remove --drop drops the mirror, and refuses a schema that contains anything else', async () => {
    const { accounts, ask } = await setUp();
    await ask('create schema obsync_shop; create table obsync_shop.mirror_environments (a int)');
    await accounts('add', ...SHOP);
    expect((await accounts('remove', 'shop', '--drop')).stdout).toContain('removed, with its mirror');
    await ask('create schema sales; create table sales.orders (a int)');
    await accounts('add', ...SHOP, '--schema', 'sales');
    expect(await accounts('remove', 'shop', '--drop')).toEqual(
      refusal(/the schema sales contains orders, which obsync did not create/),
    );
    await ask('create table sales.mirror_environments (a int)');
    expect(await accounts('remove', 'shop', '--drop')).toEqual(
      refusal(/the schema sales contains orders, which obsync did not create/),
    );
    expect(await ask("select nspname from pg_namespace where nspname in ('obsync_shop', 'sales')")).toEqual([
      { nspname: 'sales' },
    ]);
    expect((await accounts('list')).stdout).toContain('sales');
  });

  const FOREIGN = /contains mine, which obsync did not create/;
  test.each([
    ['function obsync_shop.mine', "() returns int language sql as 'select 1'", FOREIGN],
    ['sequence obsync_shop.mine', '', FOREIGN],
    ['type obsync_shop.mine', "as enum ('a')", FOREIGN],
    ['view public.mine', 'as select * from obsync_shop.failing_tests', /such as mine: drop them/],
    ['materialized view public.mine', "as select obsync_shop.same_json('1', '1')", /such as mine: drop them/],
  ])('remove --drop of a mirror refuses while there is a %s', async (object, definition, line) => {
    const { accounts, ask, url } = await setUp();
    await accounts('add', ...SHOP);
    await (await openStore(withSchema(url, 'obsync_shop'))).bringUpToDate();
    await ask(`create ${object} ${definition}`);
    expect(await accounts('remove', 'shop', '--drop')).toEqual(refusal(line));
    await ask(`drop ${object}`);
    expect((await accounts('remove', 'shop', '--drop')).stdout).toContain('removed, with its mirror');
  });

  test('remove --drop keeps a mirror that a process is syncing, and exits 4 (R26)', async () => {
    const { accounts, ask, url } = await setUp();
    await accounts('add', ...SHOP);
    const mirror = await (await openStore(withSchema(url, 'obsync_shop'))).open(new AbortController().signal);
    await mirror.hold(['e1']);
    expect(await accounts('remove', 'shop', '--drop')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('a process is syncing environment e1 into the schema obsync_shop'),
    });
    await mirror.close();
    expect((await accounts('remove', 'shop', '--drop')).stdout).toContain('removed, with its mirror');
    expect(await ask("select nspname from pg_namespace where nspname = 'obsync_shop'")).toEqual([]);
  });

  test('concurrent first uses create the tables of the accounts once', async () => {
    const { url } = await setUp();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(names.map((name) => addAccount({ db: url, name, baseUrl: 'https://x.example', tokenEnv: 'A' })));
    const { accounts: all } = await listAccounts({ db: url });
    expect(all.map(({ account }) => account)).toEqual(names);
  });

  test('a line break after the address of the database, as in a variable read from a file, changes nothing', async () => {
    const { url } = await setUp();
    for (const [name, db] of Object.entries({ a: `${url}\n`, b: ` ${url}?application_name=x ` }))
      expect(await addAccount({ db, name, baseUrl: 'https://x.example', tokenEnv: 'A' })).toMatchObject({
        account: name,
      });
    expect(withSchema(`${url}\n`, 'obsync_shop')).toBe(`${url}?schema=obsync_shop`);
  });

  test('it works behind a pooler in transaction mode', async () => {
    const { url } = await setUp();
    const pooler = await transactionPooler(url);
    onTestFinished(() => pooler.close());
    await addAccount({ db: pooler.url, name: 'shop', baseUrl: 'https://x.example', tokenEnv: 'A', history: true });
    const { accounts: all } = await listAccounts({ db: pooler.url });
    expect(all).toMatchObject([{ account: 'shop', options: { history: true } }]);
    await removeAccount({ db: pooler.url, name: 'shop' });
    expect((await listAccounts({ db: url })).accounts).toEqual([]);
  });

  test('it refuses accounts of an unreleased build', async () => {
    const { url, accounts, ask } = await setUp();
    await accounts('add', ...SHOP);
    await ask('update obsync_accounts.__drizzle_migrations set created_at = created_at - 1');
    await expect(listAccounts({ db: url })).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('were created by an unreleased build'),
    });
  });

  test('it refuses accounts of a newer version', async () => {
    const { url, accounts, ask } = await setUp();
    await accounts('add', ...SHOP);
    await ask("insert into obsync_accounts.__drizzle_migrations (hash, created_at) values ('x', 9999999999999)");
    await expect(listAccounts({ db: url })).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('were created by a newer obsync'),
    });
  });
});
