import { createServer, type ServerResponse } from 'node:http';
import { benchWorld, changedRows, type Item, type WorldSize } from './world.ts';

/**
 * Serves a synthetic account as fast as possible: every list is split into pages beforehand and kept as bytes. The only
 * argument is its size as JSON. Prints its port, and serves until stdin ends. `POST /change` changes one row in a
 * hundred but no edge, `POST /change/edges` also the edges into these columns, `POST /requests` answers how many
 * requests there were since the last one, and `POST /die/N` kills the process whose id is in the body at the Nth
 * request from then on.
 */
const size = JSON.parse(process.argv[2] ?? '{"thousands":742}') as WorldSize;
const world = benchWorld(size);
const ENVIRONMENTS = JSON.stringify(
  Array.from({ length: size.environments ?? 1 }, (_, n) => ({
    id: n === 0 ? 'bench' : `bench-${n}`,
    name: `bench ${n}`,
  })),
);
const PAGE_ROWS = 2000;
let [generation, generationOfEdges] = [0, 0];
let pages = paged();
let [requests, dieAt, victim] = [0, 0, 0];

function rowOf(path: string, n: number): Item | undefined {
  return world.lists[path]?.row(n, path === 'column-lineage' ? generationOfEdges : generation);
}

function paged(): Map<string, Buffer[]> {
  return new Map(Object.entries(world.lists).map(([path, { rows }]) => [path, pagesOf(path, rows)]));
}

function pagesOf(path: string, rows: number): Buffer[] {
  const list: Buffer[] = [];
  for (let start = 0; start < rows; start += PAGE_ROWS) {
    const items = Array.from({ length: Math.min(PAGE_ROWS, rows - start) }, (_, i) => rowOf(path, start + i));
    const more = start + PAGE_ROWS < rows;
    const page = { items, has_more: more, next_cursor: more ? String(list.length + 1) : null };
    list.push(Buffer.from(JSON.stringify(page)));
  }
  return list;
}

const EMPTY = Buffer.from('{"items":[],"has_more":false}');

/** The rows of a feed or of a lookup by ids: all on one page, or in pages of the usual size. */
function selected(path: string, parameters: URLSearchParams): number[] | null {
  const list = world.lists[path];
  if (list === undefined || parameters.has('deleted_since')) return [];
  if (parameters.has('synced_since')) return generation > 0 && list.feed ? changed(path) : [];
  for (const parameter of ['ids', 'asset_ids', 'column_ids'])
    if (parameters.has(parameter)) return parameters.getAll(parameter).flatMap((id) => world.find(path, parameter, id));
  return null;
}

/** A test's history is its latest execution. */
function history(testId: string): Buffer {
  const items = world.find('tests', 'ids', testId).map((n) => rowOf('latest-test-executions', n));
  return Buffer.from(JSON.stringify({ items, has_more: false, next_cursor: null }));
}

/** An edge changes with its downstream column. */
function changed(path: string): number[] {
  const changedIn = (list: string): number[] => changedRows(world.lists[list]?.rows ?? 0);
  if (path !== 'column-lineage') return changedIn(path);
  return changedIn('columns').flatMap((n) => world.find(path, 'column_ids', String(rowOf('columns', n)?.['id'])));
}

function pageOf(path: string, parameters: URLSearchParams): Buffer {
  const [list, id = '', of] = path.split('/');
  if (list === 'tests' && of === 'executions') return history(decodeURIComponent(id));
  const at = Number(parameters.get('cursor') ?? 0);
  if (parameters.get('disabled') === 'true') return EMPTY;
  const numbers = selected(path, parameters);
  if (numbers === null) return pages.get(path)?.[at] ?? EMPTY;
  const items = numbers.slice(at * PAGE_ROWS, (at + 1) * PAGE_ROWS).map((n) => rowOf(path, n));
  const more = (at + 1) * PAGE_ROWS < numbers.length;
  return Buffer.from(JSON.stringify({ items, has_more: more, next_cursor: more ? String(at + 1) : null }));
}

function command(path: string, body: string, response: ServerResponse): void {
  if (path.startsWith('/change')) {
    generation = Date.now();
    if (path === '/change/edges') generationOfEdges = generation;
    pages = paged();
  } else if (path === '/requests') {
    response.write(String(requests));
    requests = 0;
  } else {
    [requests, dieAt, victim] = [0, Number(path.split('/')[2]), Number(body)];
  }
  response.end();
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (request.method === 'POST') {
    let body = '';
    for await (const chunk of request) body += chunk;
    return command(url.pathname, body, response);
  }
  requests += 1;
  if (requests === dieAt) process.kill(victim, 'SIGKILL');
  response.setHeader('content-type', 'application/json');
  if (url.pathname.endsWith('/environments')) return response.end(ENVIRONMENTS);
  return response.end(pageOf(url.pathname.split('/').slice(4).join('/'), url.searchParams));
});
// Idle connections stay open while a client is busy, so no request is sent twice.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => console.log((server.address() as { port: number }).port));
process.stdin.on('end', () => process.exit()).resume();
