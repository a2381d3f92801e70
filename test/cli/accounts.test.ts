import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inSchema } from '../../src/api/accounts-database.ts';
import { openStore } from '../../src/api/open-store.ts';
import { addAccount, listAccounts, removeAccount } from '../../src/index.ts';
import { type ScriptedStep, startApiServer } from '../support/api-server.ts';
import { testDatabase } from '../support/postgres/database.ts';
import { transactionPooler } from '../support/postgres/transaction-pooler.ts';
import { folder, obsync, refusal, TOKEN } from './setup.ts';

async function setUp() {
  const database = await testDatabase();
  const env = { OBSYNC_DB: database.url, SHOP_TOKEN: TOKEN };
  return { ...database, env, accounts: (...args: string[]) => obsync(['accounts', ...args], { env }) };
}

async function server(...steps: ScriptedStep[]) {
  const api = await startApiServer(...steps);
  onTestFinished(() => api.close());
  return api;
}

const SERVICE = ['--base-url', 'https://api.example.com/public/beta/'];
const SHOP = ['shop', ...SERVICE, '--token-env', 'SHOP_TOKEN'];

describe('accounts', () => {
  test('are added, listed, changed and removed, each with a schema of its own', async () => {
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
      refusal(/there is an account shop already: change it with --replace/),
    );
    const changed = await accounts('add', ...SHOP, '--cron', '30 * * * *', '--replace');
    expect(changed.stdout).toContain('account shop changed');
    expect((await accounts('list')).stdout).toMatch(/shop .*SHOP_TOKEN.*obsync_shop.*30 \* \* \* \*.*not listed yet/);
    expect((await accounts('remove', 'Käse-Co')).stdout).toContain('its mirror stays in the schema obsync_kase_co');
    expect(await accounts('remove', 'Käse-Co')).toEqual(refusal(/there is no account Käse-Co/));
  });

  test('keep no token, and refuse one in the place of its variable without repeating it (R25)', async () => {
    const { accounts, ask } = await setUp();
    await accounts('add', ...SHOP);
    const mistaken = await accounts('add', 'other', ...SERVICE, '--token-env', TOKEN);
    expect(mistaken).toEqual(refusal(/--token-env needs the name of a variable, in capitals/));
    expect(mistaken.stderr).not.toContain(TOKEN);
    const [row] = await ask('select string_agg(a::text, chr(10)) as kept from obsync_accounts.accounts a');
    expect(row?.['kept']).toContain('SHOP_TOKEN');
    expect(row?.['kept']).not.toContain(TOKEN);
  });

  test.each([
    ['no name', ['add', ...SERVICE, '--token-env', 'A'], /no account: write its name after the action/],
    ['a name that could be an option', ['add', ' x', ...SERVICE], /the name of the account is not valid/],
    ['no place of a token', ['add', 'a', ...SERVICE], /needs one place of its token/],
    ['two of them', ['add', 'a', ...SERVICE, '--token-env', 'A', '--token-file', 'f'], /needs one place of its token/],
    ['no base URL', ['add', 'a', '--token-env', 'A'], /no base URL/],
    ['plain http', ['add', 'a', '--base-url', 'http://x.example', '--token-env', 'A'], /plain http/],
    ['a schema that none can be', ['add', ...SHOP, '--schema', 'Shop!'], /the schema of the mirror is not valid/],
    ['the schema of the accounts', ['add', ...SHOP, '--schema', 'obsync_accounts'], /is taken by obsync itself/],
    [
      'a name without letters for a schema',
      ['add', '日本', ...SERVICE, '--token-env', 'A'],
      /no schema can be named after/,
    ],
    ['a schema of everybody', ['add', ...SHOP, '--schema', 'public'], /the schema public may be used by anybody/],
    ['a variable of the database', ['add', 'a', ...SERVICE, '--token-env', 'PGPASSWORD'], /is for the database/],
    ['its address as a token', ['add', 'a', ...SERVICE, '--token-env', 'OBSYNC_DB'], /is for the database/],
    ['a name in a list', ['list', 'shop'], /accounts list takes no name/],
    ['a wrong cron', ['add', ...SHOP, '--cron', 'often'], /--cron often is not a cron expression/],
    ['a page size', ['add', ...SHOP, '--page-size', '3000'], /--page-size needs a whole number from 1 to 2000/],
    ['another action', ['delete', 'shop'], /accounts cannot delete: write one of add, list, remove, test/],
  ])('refuse %s in one line, exit 2', async (_, args, line) => {
    const { accounts } = await setUp();
    expect(await accounts(...args)).toEqual(refusal(line));
  });

  test('make nothing where they are only read', async () => {
    const { accounts, ask, env } = await setUp();
    expect((await accounts('list')).stdout).toContain('there are no accounts');
    expect((await obsync(['status', '--all'], { env })).stdout).toBe('0 accounts, 0 environments, 0 workers\n');
    expect(await accounts('test', 'shop')).toEqual(refusal(/there is no account shop/));
    expect(await ask("select nspname from pg_namespace where nspname like 'obsync%'")).toEqual([]);
  });

  test('say where the token is looked for: a file by its whole path, and a variable that is not set here', async () => {
    const { accounts } = await setUp();
    const file = await accounts('add', 'a', ...SERVICE, '--token-file', 'token.txt');
    expect(file.stdout).toMatch(/its token is read from \S+[/]token\.txt/);
    const variable = await accounts('add', 'b', ...SERVICE, '--token-env', 'NOT_SET_HERE');
    expect(variable.stdout).toContain('the variable NOT_SET_HERE is not set here');
    expect((await accounts('add', ...SHOP)).stdout).not.toContain('is not set here');
  });

  test('have one mirror each: a schema that another account has is refused', async () => {
    const { accounts } = await setUp();
    await accounts('add', ...SHOP);
    expect(await accounts('add', 'other', ...SERVICE, '--token-env', 'A', '--schema', 'obsync_shop')).toEqual(
      refusal(/the schema obsync_shop is that of account shop: name another with --schema/),
    );
  });

  test('need PostgreSQL, and say so; a server that is not there is one line, too', async () => {
    expect(await obsync(['accounts'], { env: {} })).toEqual(refusal(/accounts are kept in PostgreSQL/));
    const { code, stderr } = await obsync(['accounts', 'list', '--db', 'postgres://127.0.0.1:1/none']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^obsync: postgres:\S+ cannot be reached[^\n]*\n$/);
  });

  test('test asks the service once, with the token of the account, and says what it shows and when each is synced', async () => {
    const { accounts } = await setUp();
    const listed = [
      { id: 'e1', name: 'Production', cron: '0 6 * * *' },
      { id: 'e2', name: 'Staging', cron: null },
    ];
    const api = await server({ body: listed });
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
    expect((await accounts('test', 'shop')).stdout).toMatch(/shows 2 environments to account shop/);
  });

  test('test ends 1 when nothing would be synced, 2 without the token, 3 when it is refused, and shows it nowhere', async () => {
    const { accounts, env } = await setUp();
    const refused = { status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } };
    const api = await server({ body: [] }, refused);
    await accounts('add', 'shop', '--base-url', api.url, '--token-env', 'SHOP_TOKEN');
    expect(await accounts('test', 'shop')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('check the permissions'),
    });
    expect(await accounts('test', 'shop')).toMatchObject({ code: 3, stderr: expect.not.stringContaining(TOKEN) });
    expect(await obsync(['accounts', 'test', 'shop'], { env: { ...env, SHOP_TOKEN: '' } })).toEqual(
      refusal(/the variable SHOP_TOKEN is not set, which holds the token of account shop/),
    );
    expect(await accounts('test', 'nobody')).toEqual(refusal(/there is no account nobody/));
  });

  test('read the token of a file that is named instead', async () => {
    const { accounts } = await setUp();
    const file = join(folder(), 'token');
    writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
    const api = await server({ body: [{ id: 'e1', name: 'E', cron: null }] });
    await accounts('add', 'shop', '--base-url', api.url, '--token-file', file);
    expect((await accounts('test', 'shop')).stdout).toContain('never: it has no cron expression');
    expect(api.requests[0]?.headers['authorization']).toBe(`Bearer ${TOKEN}`);
  });

  test('remove --drop drops a mirror, and refuses a schema that holds something else', async () => {
    const { accounts, ask } = await setUp();
    await ask('create schema obsync_shop; create table obsync_shop.mirror_environments (a int)');
    await accounts('add', ...SHOP);
    expect((await accounts('remove', 'shop', '--drop')).stdout).toContain('removed, with its mirror');
    await ask('create schema sales; create table sales.orders (a int)');
    await accounts('add', ...SHOP, '--schema', 'sales');
    expect(await accounts('remove', 'shop', '--drop')).toEqual(refusal(/the schema sales holds orders, which is not/));
    await ask('create table sales.mirror_environments (a int)');
    expect(await accounts('remove', 'shop', '--drop')).toEqual(refusal(/the schema sales holds orders, which is not/));
    expect(await ask("select nspname from pg_namespace where nspname in ('obsync_shop', 'sales')")).toEqual([
      { nspname: 'sales' },
    ]);
    expect((await accounts('list')).stdout).toContain('sales');
  });

  test('remove --drop leaves a mirror that a process syncs just now, exit 4 (R26)', async () => {
    const { accounts, ask, url } = await setUp();
    await accounts('add', ...SHOP);
    const mirror = await (await openStore(inSchema(url, 'obsync_shop'))).open(new AbortController().signal);
    await mirror.hold(['e1']);
    expect(await accounts('remove', 'shop', '--drop')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('a process syncs environment e1 into the schema obsync_shop just now'),
    });
    await mirror.close();
    expect((await accounts('remove', 'shop', '--drop')).stdout).toContain('removed, with its mirror');
    expect(await ask("select nspname from pg_namespace where nspname = 'obsync_shop'")).toEqual([]);
  });

  test('have their tables made once, however many programs use them first at the same time', async () => {
    const { url } = await setUp();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(names.map((name) => addAccount({ db: url, name, baseUrl: 'https://x.example', tokenEnv: 'A' })));
    const { accounts: all } = await listAccounts({ db: url });
    expect(all.map(({ account }) => account)).toEqual(names);
  });

  test('work behind a pooler in transaction mode', async () => {
    const { url } = await setUp();
    const pooler = await transactionPooler(url);
    onTestFinished(() => pooler.close());
    await addAccount({ db: pooler.url, name: 'shop', baseUrl: 'https://x.example', tokenEnv: 'A', history: true });
    const { accounts: all } = await listAccounts({ db: pooler.url });
    expect(all).toMatchObject([{ account: 'shop', options: { history: true } }]);
    await removeAccount({ db: pooler.url, name: 'shop' });
    expect((await listAccounts({ db: url })).accounts).toEqual([]);
  });

  test('of an unreleased build are refused', async () => {
    const { url, accounts, ask } = await setUp();
    await accounts('add', ...SHOP);
    await ask('update obsync_accounts.__drizzle_migrations set created_at = created_at - 1');
    await expect(listAccounts({ db: url })).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('were made by an unreleased build'),
    });
  });

  test('of a newer version are refused', async () => {
    const { url, accounts, ask } = await setUp();
    await accounts('add', ...SHOP);
    await ask("insert into obsync_accounts.__drizzle_migrations (hash, created_at) values ('x', 9999999999999)");
    await expect(listAccounts({ db: url })).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringContaining('were made by a newer obsync'),
    });
  });
});
