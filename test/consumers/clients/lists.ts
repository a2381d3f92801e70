import createClient from 'openapi-fetch';
import type { paths } from './api.d.ts';

/* Prints every list of the API: a line of JSON for each item that openapi-fetch reads. */

interface Page<Item> {
  readonly items: Item[];
  readonly next_cursor?: string | null;
}

const { URL: baseUrl = '', OBSYNC_SERVE_TOKEN: token } = process.env;
const { GET } = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });

for (const environment of dataOf(await GET('/public/beta/environments'))) {
  const path = { env_id: environment.id };
  write('environments', path, environment);
  await read('assets', path, (query) => GET('/public/beta/{env_id}/assets', { params: { path, query } }));
  await read('table_assets', path, (query) => GET('/public/beta/{env_id}/assets/tables', { params: { path, query } }));
  await read('bi_assets', path, (query) => GET('/public/beta/{env_id}/assets/bi', { params: { path, query } }));
  await read('columns', path, (query) => GET('/public/beta/{env_id}/columns', { params: { path, query } }));
  await read('asset_lineage', path, (query) => GET('/public/beta/{env_id}/asset-lineage', { params: { path, query } }));
  await read('column_lineage', path, (query) =>
    GET('/public/beta/{env_id}/column-lineage', { params: { path, query } }),
  );
  await read('latest_test_executions', path, (query) =>
    GET('/public/beta/{env_id}/latest-test-executions', { params: { path, query } }),
  );
  await read('asset_health_scores', path, (query) =>
    GET('/public/beta/{env_id}/asset-health-scores', { params: { path, query } }),
  );
  const tests = await read('tests', path, (query) => GET('/public/beta/{env_id}/tests', { params: { path, query } }));
  for (const { id } of tests)
    await read('test_executions', path, (query) =>
      GET('/public/beta/{env_id}/tests/{test_id}/executions', { params: { path: { ...path, test_id: id }, query } }),
    );
}

async function read<Item>(
  list: string,
  path: { readonly env_id: string },
  ask: (query: { limit: number; cursor?: string }) => Promise<{ data?: Page<Item>; error?: unknown }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: string | null | undefined = '';
  while (typeof cursor === 'string') {
    const page: Page<Item> = dataOf(await ask({ limit: 7, cursor }));
    all.push(...page.items);
    cursor = page.next_cursor;
  }
  for (const item of all) write(list, path, item);
  return all;
}

function dataOf<Data>({ data, error }: { data?: Data; error?: unknown }): Data {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

function write(list: string, path: { readonly env_id: string }, item: unknown): void {
  process.stdout.write(`${JSON.stringify({ list, ...path, item })}\n`);
}
