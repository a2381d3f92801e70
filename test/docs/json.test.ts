import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alerts as alertTable } from '../../schema/alerts.ts';
import { assets, columnLineage, columns, environments } from '../../schema/assets.ts';
import { prunedHistory } from '../../schema/histories.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { SERVE_TOKEN, serving } from '../cli/serving.ts';
import { folder, mirrorFile, obsync } from '../cli/setup.ts';
import { databaseWithCitus } from '../support/citus/database.ts';
import { madeDatabase } from '../support/postgres/database.ts';
import { nameIn, readDocument, rowsOf, sectionOf } from './documents.ts';

const DOCUMENT = readDocument('docs/json-and-exit-codes.md');

const AT = '2026-11-20T04:10:00.000000Z';

function fillSource({ db }: MirrorFile): void {
  const row = { env_id: 'e1', mirrored_at: AT };
  db.insert(environments).values({ id: 'e1', name: 'Production', mirrored_at: AT }).run();
  for (const id of ['orders', 'lines', 'dash'])
    db.insert(assets)
      .values({ ...row, id, name: id, kind: 'other', source_type: 'dbt', synced_at: AT })
      .run();
  for (const id of ['orders.id', 'lines.id'])
    db.insert(columns)
      .values({ ...row, id, asset_id: id.slice(0, -3), name: 'id', synced_at: AT })
      .run();
  db.insert(columnLineage)
    .values({ ...row, upstream_column_id: 'orders.id', downstream_column_id: 'lines.id' })
    .run();
}

function recordPruning(path: string): void {
  const { db, connection } = openForWriting(path);
  db.insert(prunedHistory)
    .values({
      ...{ env_id: 'e1', history: 'test_executions', action: 'delete', row_count: 1, mirrored_at: AT },
      ...{ complete_before: AT, pruning_before: null, pruned_through: '' },
    })
    .run();
  connection.close();
}

/** The `--json` output of the commands, in every state that has distinct fields. */
const printed: Record<string, unknown[]> = {};

beforeAll(async () => {
  const source = await serving(['--db', mirrorFile(fillSource)], { whenDone: () => {} });
  const where = {
    cwd: folder(),
    env: { OBSYNC_BASE_URL: source.url, OBSYNC_TOKEN: SERVE_TOKEN, OBSYNC_LOG_LEVEL: 'fatal' },
  };
  const print = async (command: string, ...args: string[]): Promise<void> => {
    const { stdout, stderr } = await obsync([command, '--json', ...args], where);
    if (stdout === '') throw new Error(stderr);
    printed[command] = [...(printed[command] ?? []), JSON.parse(stdout)];
  };
  try {
    await print('sync', '--page-size', '1', '--max-requests', '3');
    await print('status');
    await print('sync');
    recordPruning(join(where.cwd, 'obsync.db'));
    await print('status');
    await print('compact');
    await print('plan');
    await print('doctor');
    await print('describe');
    await print('export', '--to', 'lake');
    await print('copy', '--to', 'copy.db');
    await print('backup', 'backup.db');
    await print('migrate');
    await printCitus();
    await print('bi', 'dbt', '--to', 'models');
    await print('report', '--to', 'report.html');
    const mirror = openForWriting(`${where.cwd}/obsync.db`);
    mirror.connection.exec("delete from assets where id = 'dash'; update assets set name = 'other' where id = 'lines'");
    mirror.connection.close();
    const against = await obsync(['verify', '--json', '--against', 'lake'], where);
    printed['verify --against'] = [JSON.parse(against.stdout)];
    await print('verify');
    await print('verify', '--repair');
    await printAccounts(source.url);
    await printAlerts(where, print);
    printed['serve']?.push((await source.get('/healthz?max_age=2h')).body);
  } finally {
    source.kill('SIGKILL');
    await source.ended;
  }
});

async function printCitus(): Promise<void> {
  const { url, drop } = await databaseWithCitus();
  try {
    const { stdout } = await obsync(['migrate', '--citus', '--json'], { env: { OBSYNC_DB: url } });
    printed['migrate']?.push(JSON.parse(stdout));
    const env = { OBSYNC_SERVE_TOKEN: SERVE_TOKEN, OBSYNC_DB: url };
    const server = await serving([], { env, whenDone: afterAll });
    printed['serve'] = [(await server.get('/healthz')).body];
    server.kill('SIGTERM');
    await server.ended;
  } finally {
    await drop();
  }
}

async function printAccounts(baseUrl: string): Promise<void> {
  const { url, ask: askDatabase, drop } = await madeDatabase();
  const env = { OBSYNC_DB: url, SERVICE_TOKEN: SERVE_TOKEN };
  const ask = async (...args: string[]) => JSON.parse((await obsync(['accounts', ...args, '--json'], { env })).stdout);
  try {
    const added = await ask('add', 'shop', '--base-url', baseUrl, '--token-env', 'SERVICE_TOKEN', '--history');
    // The page lists an account's fields once, and those of its options with the options.
    const list = await ask('list');
    const accounts = list.accounts.map((account: object) =>
      Object.fromEntries(Object.entries(account).filter(([name]) => !(name in added))),
    );
    await askDatabase(`insert into obsync_accounts.account_environments (account, env_id, name) values ('shop', 'e1', 'E');
      insert into obsync_accounts.workers (worker, host, pid, concurrency) values ('w', 'h', 1, 1)`);
    printed['status --all'] = [JSON.parse((await obsync(['status', '--all', '--json'], { env })).stdout)];
    const replies = [added, await ask('test', 'shop'), { accounts }, await ask('remove', 'shop')];
    printed['accounts'] = replies.map((reply) => ({ ...reply, ...('options' in reply ? { options: {} } : {}) }));
  } finally {
    await drop();
  }
}

/** A made alert, listed and snoozed, and a sample to a program. */
async function printAlerts(
  { cwd }: { readonly cwd: string },
  print: (command: string, ...args: string[]) => Promise<void>,
) {
  const mirror = openForWriting(`${cwd}/obsync.db`);
  const row = { rule: 'r', kind: 'test', subject: 't', members: '{}', silent: 1, messages: 0, channels: '[]' };
  mirror.db
    .insert(alertTable)
    .values({ env_id: 'e', id: 'abc', begun_at: '2026-11-20T04:10:00.000000Z', ...row })
    .run();
  mirror.connection.close();
  const alerts = { channels: { it: { type: 'exec', command: 'true' } } };
  writeFileSync(`${cwd}/alerts.json`, JSON.stringify({ alerts }));
  await print('alerts', 'list');
  await print('alerts', 'test', '--all', '--config', 'alerts.json');
  await print('alerts', 'snooze', 'abc');
}

/** The paths of a JSON document's fields: `streams[].rows`. Objects keyed by ids have no fields. */
function pathsOf(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => pathsOf(each, `${prefix}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    return [path, ...(isKey(path) ? [] : pathsOf(inner, path))];
  });
}

const isKey = (path: string): boolean => path.endsWith('].key');

/** Three lists of the same type: the page lists the fields of the first. */
const ofOneKind = (path: string): string => path.replace(/^(possible|pending)\[\]/, 'findings[]');

const documentedPaths = (title: string): string[] => rowsOf(sectionOf(DOCUMENT, title)).map(([path]) => nameIn(path));

describe('docs/json-and-exit-codes.md', () => {
  test.each([
    ['sync'],
    ['status'],
    ['plan'],
    ['doctor'],
    ['verify'],
    ['describe'],
    ['export'],
    ['copy'],
    ['backup'],
    ['migrate'],
    ['compact'],
    ['bi'],
    ['report'],
    ['verify --against'],
    ['serve'],
    ['accounts'],
    ['alerts'],
    ['status --all'],
  ])('it has exactly the fields that %s prints as JSON', (command) => {
    const paths = new Set(printed[command]?.flatMap((each) => pathsOf(each)).map(ofOneKind));
    expect(documentedPaths(`obsync ${command}`).sort()).toEqual([...paths].sort());
  });

  test('it has exactly the exit codes in the program’s help', async () => {
    const { stdout } = await obsync(['--help']);
    const [, codes = ''] = /Exit codes:([^.]*)\./.exec(stdout) ?? [];
    const named = [...codes.matchAll(/\b\d+\b/g)].map(([code]) => code);
    expect(rowsOf(sectionOf(DOCUMENT, 'Exit codes')).map(([code]) => nameIn(code))).toEqual(named);
  });
});
