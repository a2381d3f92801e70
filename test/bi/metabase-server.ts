import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closed, text } from './forms.ts';
import { misfits } from './setup.ts';

export const API_KEY = 'mb_the-key-nobody-may-see';

interface MetabaseItem {
  readonly id: number;
  readonly name: string;
  readonly [field: string]: unknown;
}

interface MetabaseFailure {
  readonly status: number;
  readonly text: string;
  /** The requests that fail, such as `POST /api/card`; all by default. */
  readonly of?: RegExp;
  readonly headers?: Readonly<Record<string, string>>;
  /** Cuts the connection after the text, or never responds. */
  readonly ending?: 'cut' | 'hang';
}

type RequestBody = Readonly<Record<string, unknown>>;

/** A fake Metabase: it accepts the fields that Metabase accepts, and stores what it receives. */
export interface MetabaseServer {
  readonly url: string;
  readonly requests: readonly string[];
  readonly collections: MetabaseItem[];
  readonly cards: MetabaseItem[];
  readonly dashboards: (MetabaseItem & { dashcards: MetabaseItem[]; tabs: MetabaseItem[]; parameters: object[] })[];
  databases: readonly { id: number; name: string; engine: string }[];
  /** If set, the response to failing requests. */
  failure: MetabaseFailure | null;
  close(): Promise<void>;
}

const id = { type: 'integer' };
const count = { type: 'integer', minimum: 0 };
const size = { type: 'integer', minimum: 1 };
const idOrNull = { type: ['integer', 'null'] };
const anything = {};
const list = (items: object): object => ({ type: 'array', items });

const dashcard = closed({
  id,
  row: count,
  col: count,
  size_x: size,
  size_y: size,
  'card_id?': idOrNull,
  'action_id?': anything,
  'dashboard_tab_id?': idOrNull,
  'parameter_mappings?': anything,
  'visualization_settings?': anything,
  'inline_parameters?': anything,
  'series?': list(closed({ 'id?': id })),
});

const described = { name: text, 'description?': text, 'collection_id?': id };

const tag = closed({ id: text, name: text, 'display-name': text, type: { enum: ['text', 'date'] } });

/** A filter of a dashboard. Only one that takes its choices from a question names the question. */
const parameter = closed({
  id: text,
  name: text,
  slug: text,
  type: { enum: ['string/=', 'date/single'] },
  'values_query_type?': { const: 'list' },
  'values_source_type?': { const: 'card' },
  'values_source_config?': closed({ card_id: id, value_field: { type: 'array', minItems: 3 } }),
});

const card = closed({
  ...described,
  display: { enum: ['scalar', 'line', 'bar', 'row', 'table'] },
  visualization_settings: { type: 'object' },
  dataset_query: closed({
    type: { const: 'native' },
    database: id,
    native: closed({ query: text, 'template-tags': { type: 'object', additionalProperties: tag } }),
  }),
});

/** The allowed body of each request. */
const BODIES: readonly (readonly [request: RegExp, form: object])[] = [
  [/^POST .*\/collection$/, closed({ name: text })],
  [/^(POST|PUT) .*\/card/, card],
  [/^POST .*\/dashboard$/, closed(described)],
  [
    /^PUT .*\/dashboard\//,
    closed({ dashcards: list(dashcard), tabs: list(closed({ id, name: text })), parameters: list(parameter) }),
  ],
];

export async function startMetabase(): Promise<MetabaseServer> {
  const requests: string[] = [];
  let lastId = 100;
  const metabase: Omit<MetabaseServer, 'url' | 'close'> = {
    requests,
    collections: [{ id: 1, name: 'obsync', location: '/7/' }],
    cards: [],
    dashboards: [],
    databases: [
      { id: 4, name: 'other', engine: 'mysql' },
      { id: 5, name: 'obsync', engine: 'sqlite' },
    ],
    failure: null,
  };
  const make = <Kind extends MetabaseItem>(kept: Kind[], made: object): Kind => {
    lastId += 1;
    const item = { ...made, id: lastId } as unknown as Kind;
    kept.push(item);
    return item;
  };
  const find = <Kind extends MetabaseItem>(kept: readonly Kind[], path: string): Kind => {
    const item = kept.find((each) => path.endsWith(`/${each.id}`));
    if (item === undefined) throw new Error(`there is no ${path}`);
    return item;
  };
  const setDashcards = ({ dashcards, tabs, parameters }: RequestBody, path: string): object => {
    const dashboard = find(metabase.dashboards, path);
    const sent = dashcards as MetabaseItem[];
    const tabIds = new Map((tabs as MetabaseItem[]).map(({ id: given }) => [given, given < 0 ? ++lastId : given]));
    if (tabIds.size > 0 && sent.some((each) => !tabIds.has(each['dashboard_tab_id'] as number)))
      throw new Error('every card needs a tab');
    dashboard.parameters = parameters as object[];
    dashboard.tabs = (tabs as MetabaseItem[]).map((each) => ({ ...each, id: tabIds.get(each.id) ?? 0 }));
    dashboard.dashcards = [];
    for (const each of sent) {
      const placed = { series: [], ...each, dashboard_tab_id: tabIds.get(each['dashboard_tab_id'] as number) };
      if (each.id < 0) make(dashboard.dashcards, placed);
      else dashboard.dashcards.push(placed);
    }
    return dashboard;
  };
  const answer = (request: string, path: string, body: RequestBody): unknown => {
    switch (request.replace(/\d+/, 'N')) {
      case 'GET /api/database':
        return { data: metabase.databases, total: metabase.databases.length };
      case 'GET /api/collection':
        return [{ id: 'root', name: 'Our analytics' }, ...metabase.collections];
      case 'POST /api/collection':
        return make(metabase.collections, { ...body, location: '/', archived: false });
      case 'POST /api/card':
        return make(metabase.cards, body);
      case 'PUT /api/card/N':
        return Object.assign(find(metabase.cards, path), body);
      case 'POST /api/dashboard':
        return make(metabase.dashboards, { ...body, dashcards: [], tabs: [], parameters: [] });
      case 'PUT /api/dashboard/N':
        return setDashcards(body, path);
      case 'GET /api/dashboard/N': {
        const dashboard = find(metabase.dashboards, path);
        const cardOf = ({ card_id }: MetabaseItem) => metabase.cards.find((each) => each.id === card_id) ?? null;
        const seriesOf = ({ series }: MetabaseItem) => (series as object[]).map((each) => ({ ...each, name: 'more' }));
        const dashcards = dashboard.dashcards.map((each) => ({
          ...{ ...each, created_at: 'now', series: seriesOf(each), card: cardOf(each) },
        }));
        return { ...dashboard, dashcards };
      }
      default:
        return itemsOf(request, metabase);
    }
  };
  const server = createServer(async (incoming, outgoing) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://metabase');
    const path = pathname.slice('/bi'.length);
    requests.push(`${incoming.method} ${path}`);
    const body = await bodyOf(incoming);
    const reply = (status: number, value: string): void => void outgoing.writeHead(status).end(value);
    if (metabase.failure?.of?.test(`${incoming.method} ${path}`) ?? metabase.failure !== null)
      return fail(outgoing, metabase.failure as MetabaseFailure);
    if (incoming.headers['x-api-key'] !== API_KEY) return reply(401, 'Unauthenticated');
    const form = BODIES.find(([request]) => request.test(`${incoming.method} ${path}`))?.[1];
    const wrong = form === undefined ? [] : misfits(form, body);
    if (wrong.length > 0) return reply(400, JSON.stringify(wrong));
    const query = searchParams.size === 0 ? '' : `?${searchParams}`;
    reply(200, JSON.stringify(answer(`${incoming.method} ${path}${query}`, path, body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(metabase, {
    // Metabase may be served below a path.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/bi`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

function fail(outgoing: ServerResponse, { status, text, headers = {}, ending }: MetabaseFailure): void {
  if (ending === 'hang') return;
  if (ending !== 'cut') return void outgoing.writeHead(status, headers).end(text);
  outgoing.writeHead(status, { ...headers, 'content-length': text.length + 1 });
  outgoing.write(text, () => outgoing.destroy());
}

async function bodyOf(incoming: IncomingMessage): Promise<RequestBody> {
  let body = '';
  for await (const chunk of incoming) body += chunk;
  return body === '' ? {} : JSON.parse(body);
}

/** One page of a collection's questions and dashboards. */
function itemsOf(request: string, { cards, dashboards }: Pick<MetabaseServer, 'cards' | 'dashboards'>): unknown {
  const [, collection, query] = /^GET \/api\/collection\/(\d+)\/items\?(.*)$/.exec(request) ?? [];
  if (collection === undefined) throw new Error(`nobody knows ${request}`);
  const asked = new URLSearchParams(query);
  const [limit, offset] = [Number(asked.get('limit')), Number(asked.get('offset'))];
  const all: MetabaseItem[] = [
    ...cards.map((each) => ({ ...each, model: 'card' })),
    ...dashboards.map((each) => ({ ...each, model: 'dashboard' })),
  ];
  const inside = all.filter((each) => each['collection_id'] === Number(collection));
  return { data: inside.slice(offset, offset + limit), total: inside.length };
}
