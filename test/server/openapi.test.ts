import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeSample } from '../../src/demo/changes.ts';
import { makeSample } from '../../src/demo/sample.ts';
import { type MirrorFile, openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { rootToken } from '../../src/server/access.ts';
import { createServer } from '../../src/server/server.ts';
import { PLAIN_FEEDS } from '../support/catalogue.ts';
import { testFolder } from '../support/test-folder.ts';
import { bearer, insertSample } from './fixture.ts';
import { OPENAPI_SHAPE } from './openapi-shape.ts';
import { ENV, OPERATION_NAMES, OPERATIONS } from './operations.ts';

const LISTS = OPERATIONS.filter(([, , , list]) => list);
const names = (query: string) => query.split(' ').filter((name) => name !== '');
const EVERY_NAME = [...new Set(OPERATIONS.flatMap(([, query]) => names(query))), 'token', 'nonsense'];
const REFUSALS = ['400', '401', '403', '404', '414', '422', '429', '431', '500', '503'];
/** Refused before the mirror is read. */
const TOO_LONG = ['414', '431'];

/** Fields without a value are an empty list or left out. */
const NEVER_NULL = ['owners', 'tags', 'config', 'obsync_as_sent'];

const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

// biome-ignore lint/suspicious/noExplicitAny: the document is what is looked into
type Document = any;
type Item = Readonly<Record<string, string>>;

let mirror: MirrorFile;
let server: FastifyInstance;
let document: Document;
/** An item of each list, by the list's path. */
const samples = new Map<string, Item>();

beforeAll(async () => {
  const writing = openForWriting(join(testFolder(), 'sample.db'));
  makeSample(writing, { seed: 3, nowMs: NOW_MS });
  changeSample(writing, { seed: 3, nowMs: NOW_MS });
  for (const kind of PLAIN_FEEDS)
    for (const n of [1, 2]) insertSample(writing, kind, `${kind} ${n}`, { env_id: 'prod-analytics' });
  writing.connection.close();
  mirror = openForReading(writing.path);
  const rateLimit = { limit: 100_000, windowMs: 60_000 };
  server = await createServer({ mirror, keys: () => [rootToken('all', 'secret')], rateLimit });
  document = (await server.inject('/openapi.json')).json();
  ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': INSTANT, int64: true, double: true } });
  ajv.addSchema(document, 'openapi');
});
afterAll(async () => {
  await server.close();
  mirror.connection.close();
});

const get = async (url: string) => {
  const { statusCode, body } = await server.inject({ url, headers: bearer('secret') });
  return { status: statusCode, body: JSON.parse(body) };
};

const of = (path: string) => document.paths[path].get;

let ajv: Ajv2020;

/** How an answer differs from its schema. */
function described(path: string, status: number): ValidateFunction {
  const place = [path, 'get', 'responses', String(status), 'content', 'application/json', 'schema'];
  const pointer = place.map((name) => encodeURIComponent(name.replaceAll('/', '~1'))).join('/');
  return ajv.compile({ $ref: `openapi#/paths/${pointer}` });
}

function expectDescribed(path: string, answer: { status: number; body: unknown }): void {
  const matches = described(path, answer.status);
  expect(matches(answer.body) ? [] : matches.errors).toEqual([]);
}

/** The path filled in with ids of the sample: a test that has runs, and the first listed item. */
async function filled(path: string): Promise<string> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const list = path.replace(/\/\{\w+\}$/, '');
  const item = names.length > 1 && path.endsWith('}') ? await sampleOf(list) : {};
  const run = names.includes('test_id') ? await sampleOf(`${ENV}/latest-test-executions`) : {};
  const ids: Item = { ...item, asset_id: item['asset_id'] ?? item['id'] ?? '', column_id: item['id'] ?? '' };
  const known = { ...ids, env_id: 'prod-analytics', execution_id: item['id'] ?? '', test_id: run['test_id'] ?? '' };
  return path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent((known as Item)[name] ?? item['id'] ?? ''));
}

async function sampleOf(list: string): Promise<Item> {
  const sample = samples.get(list) ?? (await get(`${await filled(list)}?limit=1`)).body.items[0];
  samples.set(list, sample);
  return sample;
}

/** A value that the parameter accepts according to its schema. For a cursor, that of the first page. */
async function valuesOf(path: string, { name, schema }: { name: string; schema: Document }): Promise<string[]> {
  if (name === 'cursor') return [(await get(`${await filled(path)}?limit=1`)).body.next_cursor];
  if (schema.format === 'date-time') return ['2026-11-01T00:00:00.123456Z', '2026-11-01T00:00:00'];
  if (schema.type === 'array') return ['x', `x&${name}=y`];
  if (schema.type === 'boolean') return ['true', 'false'];
  return (schema.enum ?? [schema.minimum, schema.maximum, schema.default]).map(String);
}

describe('/openapi.json', () => {
  test('it is valid OpenAPI 3.1 with JSON Schema 2020-12', () => {
    const matches = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(OPENAPI_SHAPE);
    expect(matches(document) ? [] : matches.errors).toEqual([]);
  });

  test('below a path of a proxy, its server has that path', () => {
    const [{ url }] = document.servers;
    expect(new URL(url, 'https://host/obs/openapi.json').href).toBe('https://host/obs/');
    expect(new URL(url, 'http://127.0.0.1:8484/openapi.json').href).toBe('http://127.0.0.1:8484/');
  });

  test('every reference resolves, and every schema is referenced', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, to]) => to);
    const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect([...new Set(refs)].sort()).toEqual(schemas.sort());
  });

  test('every number has a format of 64 bits, because generated clients otherwise read it into 32', () => {
    const numbers = [...JSON.stringify(document).matchAll(/"type":(?:"|\["|\["null",")(integer|number)[^}]*/g)];
    const formats = { integer: '"format":"int64"', number: '"format":"double"' };
    expect(numbers.length).toBeGreaterThan(100);
    for (const [schema, type] of numbers) expect(schema).toContain(formats[type as 'integer']);
  });

  test('it has exactly the operations of the API, each with a unique name', () => {
    expect(Object.keys(document.paths).sort()).toEqual(OPERATIONS.map(([path]) => path).sort());
    expect(new Set(OPERATIONS.map(([path]) => of(path).operationId)).size).toBe(OPERATIONS.length);
    const declared = document.tags.map(({ name }: Item) => name);
    expect(declared.sort()).toEqual([...new Set(OPERATIONS.flatMap(([path]) => of(path).tags))].sort());
  });

  test.each(OPERATIONS)('%s accepts exactly the parameters %s', (path, query) => {
    const parameters: { in: string; name: string; description: string; schema: Document }[] = of(path).parameters ?? [];
    const named = (where: string) => parameters.filter((parameter) => parameter.in === where).map(({ name }) => name);
    expect(named('query').sort()).toEqual(names(query).sort());
    expect(named('header')).toEqual(['If-None-Match']);
    for (const { schema, description } of parameters.filter(({ schema }) => schema.type === 'array')) {
      expect(description).toContain('256 KB');
      expect(schema).toEqual({ type: 'array', items: { type: 'string' }, maxItems: 1000 });
    }
    for (const { schema } of parameters.filter(({ name }) => name === 'limit'))
      expect(schema).toEqual({ type: 'integer', format: 'int64', minimum: 1, maximum: 2000, default: 500 });
    expect(named('path')).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  });

  test.each(OPERATIONS)('%s (%s) answers with %s or a documented error', (path, _, item, list) => {
    const { responses } = of(path);
    expect(Object.keys(responses)).toEqual(['200', '304', ...REFUSALS]);
    expect(responses['304']).not.toHaveProperty('content');
    const schema = responses['200'].content['application/json'].schema;
    const ref = { $ref: `#/components/schemas/${item}` };
    const page = {
      properties: { items: { type: 'array', items: ref } },
      required: ['items'],
    };
    if (list) {
      expect(schema).toEqual({ $ref: `#/components/schemas/${item}Page` });
      expect(document.components.schemas[`${item}Page`]).toMatchObject(page);
    } else expect(schema).toEqual(item === 'Environment' ? { type: 'array', items: ref } : ref);
    for (const status of ['200', '304']) expect(responses[status].headers).toHaveProperty('ETag');
    for (const status of REFUSALS) {
      const { content, headers } = responses[status];
      expect(content['application/json'].schema).toEqual({ $ref: '#/components/schemas/ErrorEnvelope' });
      const quota = ['Date', 'Obsync-Mirrored-At', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
      const more = { 401: 'WWW-Authenticate', 403: 'WWW-Authenticate', 429: 'Retry-After', 503: 'Retry-After' };
      const own = Object.entries(more).flatMap(([of, name]) => (of === status ? [name] : []));
      expect(Object.keys(headers)).toEqual(TOO_LONG.includes(status) ? [] : [...quota, ...own]);
    }
  });

  test('every operation needs a bearer token, the document itself none', async () => {
    expect(document.components.securitySchemes).toEqual({ token: { type: 'http', scheme: 'bearer' } });
    expect(document.security).toEqual([{ token: [] }]);
    for (const [path] of OPERATIONS) {
      const { statusCode, body } = await server.inject(await filled(path));
      expect(statusCode).toBe(401);
      expectDescribed(path, { status: 401, body: JSON.parse(body) });
    }
  });

  test.each(OPERATION_NAMES)('%s is named %s, tagged %s', (path, operationId, summary, tag) => {
    expect(of(path)).toMatchObject({ operationId, summary, tags: [tag] });
  });

  test('the nested objects of a score have named schemas', () => {
    const { AssetHealthScore, AggregatedHealthScore, ...schemas } = document.components.schemas;
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const dimensions = { type: 'array', items: ref('DimensionScore') };
    expect(AssetHealthScore.properties).toEqual({
      asset_id: { type: 'string' },
      total: ref('BucketScore'),
      dimensions,
    });
    expect(AggregatedHealthScore.properties).toMatchObject({ total: ref('AggregatedBucket'), dimensions });
    const named = ['BucketScore', 'DimensionScore', 'AggregatedBucket'].map((name) => schemas[name].required);
    const bucket = ['score', 'test_count', 'bucket_at'];
    expect(named).toEqual([bucket, ['dimension', ...bucket], bucket]);
  });

  test.each(OPERATIONS)('%s: null or missing optional fields also match the schema', async (path, _, item, list) => {
    const { properties, required } = document.components.schemas[item];
    const url = await filled(path);
    const { body } = await get(list ? `${url}?limit=1` : url);
    const shown: Item = list ? body.items[0] : [body].flat()[0];
    const optional = Object.keys(properties).filter((name) => !required.includes(name));
    const nulls = optional.filter((name) => !NEVER_NULL.includes(name));
    const bare = Object.fromEntries(Object.entries(shown).filter(([name]) => !optional.includes(name)));
    const blank = { ...bare, ...Object.fromEntries(nulls.map((name) => [name, null])) };
    const answers = list
      ? [{ items: [bare, blank] }, { items: [], has_more: false, next_cursor: null }]
      : [bare, blank].map((one) => (Array.isArray(body) ? [one] : one));
    for (const answer of answers) expectDescribed(path, { status: 200, body: answer });
  });

  test('lists of owners and tags, and the config of a test, are never null', async () => {
    const { Test, Asset } = document.components.schemas;
    const typesOf = ({ properties }: Document) => NEVER_NULL.map((name) => properties[name]?.type);
    expect([typesOf(Test), typesOf(Asset)]).toEqual([
      ['array', 'array', 'object', 'object'],
      ['array', 'array', undefined, 'object'],
    ]);
  });

  test('a page has 500 rows by default and 2000 at most', () => {
    const { schema } = of(`${ENV}/tests`).parameters.find(({ name }: Item) => name === 'limit');
    expect(schema).toMatchObject({ minimum: 1, maximum: 2000, default: 500 });
  });
});

describe('the server, checked against its OpenAPI document', () => {
  test.each(OPERATIONS)('%s: each documented parameter is accepted with each kind of value', async (path) => {
    for (const parameter of of(path).parameters ?? []) {
      if (parameter.in !== 'query') continue;
      for (const value of await valuesOf(path, parameter)) {
        // A cursor is bound to its query. Elsewhere, a small page is enough.
        const limit = parameter.name === 'limit' || path.endsWith('aggregate') ? '' : '&limit=1';
        const ids = path.endsWith('aggregate') && parameter.name === 'ids' ? 400 : 200;
        const { status, body } = await get(`${await filled(path)}?${parameter.name}=${value}${limit}`);
        expect([parameter.name, value, status, body.error]).toEqual([
          parameter.name,
          value,
          ids,
          ids === 200 ? undefined : expect.anything(),
        ]);
      }
    }
  });

  test.each(OPERATIONS)('%s: an undocumented parameter is 422', async (path, query) => {
    for (const name of EVERY_NAME.filter((name) => !names(query).includes(name)))
      expect([name, (await get(`${await filled(path)}?${name}=nonsense`)).status]).toEqual([name, 422]);
  });

  test.each(OPERATIONS)('%s: a value outside its schema is 422', async (path) => {
    for (const { name, schema } of of(path).parameters ?? []) {
      const wrong = [
        schema.enum && 'nonsense',
        schema.format && 'yesterday',
        schema.type === 'boolean' && '2',
        schema.minimum && String(schema.minimum - 1),
        schema.maximum && String(schema.maximum + 1),
        schema.maxItems && `x&${`${name}=x&`.repeat(schema.maxItems)}`,
        schema.type !== 'array' && name in { limit: 1, cursor: 1, order_by: 1 } && `1&${name}=1`,
      ].filter(Boolean);
      for (const value of wrong)
        expect([name, (await get(`${await filled(path)}?${name}=${value}`)).status]).toEqual([name, 422]);
    }
  });

  test.each(LISTS)('%s: passing a default explicitly changes nothing', async (path) => {
    const defaults = of(path).parameters.filter(({ schema }: Document) => schema.default !== undefined);
    const spelled = defaults.map(({ name, schema }: Document) => `${name}=${schema.default}`).join('&');
    const [plain, same] = [await get(await filled(path)), await get(`${await filled(path)}?${spelled}`)];
    expect(same.body.items).toEqual(plain.body.items);
    expect(plain.body.items.length).toBeLessThanOrEqual(500);
  });

  test.each(OPERATIONS)(
    '%s: real answers match their schema and have no undocumented field',
    async (path, query, item) => {
      const url = await filled(path);
      const feeds = ['synced_since', 'deleted_since'].filter((name) => names(query).includes(name));
      const asked = names(query).includes('limit')
        ? ['?limit=300', ...feeds.map((name) => `?${name}=2026-11-01T00:00:00Z`)]
        : [''];
      const known = Object.keys(document.components.schemas[item].properties);
      let seen = 0;
      for (const more of asked) {
        const answer = await get(`${url}${more}`);
        expect(answer.status).toBe(200);
        expectDescribed(path, answer);
        const items: object[] = answer.body.items ?? [answer.body].flat();
        for (const shown of items) expect(known).toEqual(expect.arrayContaining(Object.keys(shown)));
        seen += items.length;
      }
      expect(seen).toBeGreaterThan(0);
    },
  );

  test.each(OPERATIONS.filter(([path]) => path.startsWith(ENV)))(
    '%s: a missing object is answered as documented',
    async (path) => {
      const answer = await get((await filled(path)).replace('prod-analytics', 'nowhere'));
      expect(answer.status).toBe(404);
      expectDescribed(path, answer);
    },
  );
});

describe('/docs', () => {
  const linksOf = (page: string) => [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link = '']) => link);

  test('the page loads scripts and styles from the same server and may connect to no other', async () => {
    const page = await server.inject('/docs');
    expect(page.headers['content-type']).toContain('text/html');
    const policy = String(page.headers['content-security-policy']);
    expect(policy.split('; ')).toContain("default-src 'self'");
    expect(policy).not.toMatch(/https?:|\*|\w\.\w/);
    const links = linksOf(page.body).filter((link) => !link.startsWith('data:'));
    expect(links.length).toBe(3);
    for (const link of links) expect((await server.inject(`/${link}`)).statusCode).toBe(200);
  });

  test('the address with a trailing slash works too', async () => {
    const { statusCode, headers } = await server.inject('/docs/');
    expect([statusCode, headers.location]).toEqual([302, '../docs']);
  });

  test('the page shows no other project’s logo', async () => {
    const { body } = await server.inject('/docs');
    expect(body).toContain('<title>Data observability read API</title>');
    expect(body).not.toMatch(/favicon|Swagger UI<\/title>/);
  });

  test('its files are immutable and sent compressed', async () => {
    for (const link of linksOf((await server.inject('/docs')).body).filter((each) => !each.startsWith('data:'))) {
      const ask = (encoding: string) => server.inject({ url: `/${link}`, headers: { 'accept-encoding': encoding } });
      const [plain, gzipped] = [await ask('identity'), await ask('gzip')];
      expect(gunzipSync(gzipped.rawPayload).equals(plain.rawPayload)).toBe(true);
      expect(plain.headers).not.toHaveProperty('content-encoding');
      expect(gzipped.headers).toMatchObject({
        'content-encoding': 'gzip',
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
      });
    }
  });

  test.each(['/docs/json', '/docs/yaml', '/docs/static/swagger-ui.css', '/docs/nothing'])(
    'there is nothing at %s',
    async (url) => {
      const { statusCode, body } = await server.inject({ url, headers: bearer('secret') });
      expect([statusCode, JSON.parse(body).error.code]).toEqual([404, 'not_found']);
    },
  );
});

test.each(['/docs', '/openapi.json'])('caches revalidate %s each time and get 304', async (url) => {
  const { headers } = await server.inject(url);
  expect(headers['cache-control']).toBe('no-cache');
  for (const held of [headers.etag, '*'])
    for (const method of ['GET', 'HEAD'] as const) {
      const again = await server.inject({ method, url, headers: { 'if-none-match': held } });
      expect([again.statusCode, again.body, again.headers['content-length']]).toEqual([304, '', undefined]);
    }
});
