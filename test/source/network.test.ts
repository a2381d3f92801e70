import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Source } from '../../src/core/ports/source.ts';
import type { HttpSourceOptions } from '../../src/source/connection.ts';
import { proxiesOf } from '../../src/source/proxies.ts';
import { startApiServer } from '../support/api-server.ts';
import { startProxyServer } from '../support/proxy-server.ts';
import { CA_FILE, startTlsServer } from '../support/tls-server.ts';
import { failureOf, openSource, TOKEN, virtualTime } from './setup.ts';

const ca = readFileSync(CA_FILE, 'utf8');

let service: Awaited<ReturnType<typeof startTlsServer>>;
beforeAll(async () => {
  service = await startTlsServer();
});
afterAll(() => service.close());

const serviceUrl = (host = '127.0.0.1'): string => `https://${host}:${service.port}`;

/** A source with these variables in its environment. */
function open(baseUrl: string, env: Readonly<Record<string, string>> = {}, options: Partial<HttpSourceOptions> = {}) {
  const time = virtualTime();
  const source: Source = openSource(baseUrl, { ...time, ca, proxies: proxiesOf(baseUrl, env), ...options });
  return { source, time };
}

async function proxied(credentials?: string) {
  const proxy = await startProxyServer(credentials);
  onTestFinished(() => proxy.close());
  return proxy;
}

describe('certificates', () => {
  test('one of a private authority is trusted with that of the authority', async () => {
    expect(await open(serviceUrl()).source.environments()).toHaveLength(1);
  });

  test.each([
    [
      'an untrusted certificate',
      '127.0.0.1',
      null,
      'is not trusted',
      'name the file of its certificate with --ca-file.',
    ],
    ['a certificate for another host', 'localhost', ca, 'is for another host', 'Check the base URL.'],
  ])('%s fails at once, names the host and says what to do', async (_, host, trusted, what, advice) => {
    const { source, time } = open(serviceUrl(host), {}, { ca: trusted });
    const { recovery, message } = await failureOf(source.environments());
    expect([recovery, time.slept]).toEqual(['run', []]);
    expect(message).toContain(`the certificate of ${host}:${service.port} ${what} (`);
    expect(message.endsWith(advice)).toBe(true);
  });

  test('a service that does not speak TLS fails at once', async () => {
    const server = await startApiServer({ body: [] });
    onTestFinished(() => server.close());
    const { source, time } = open(server.url.replace('http:', 'https:'));
    expect((await failureOf(source.environments())).message).toContain('does not speak TLS (');
    expect(time.slept).toEqual([]);
  });
});

describe('a proxy', () => {
  test('is asked for a connection to a service over https, with its credentials', async () => {
    const proxy = await proxied('user:p@ss');
    const { source } = open(serviceUrl(), { HTTPS_PROXY: `http://user:p%40ss@${proxy.host}` });
    expect(await source.environments()).toHaveLength(1);
    expect(proxy.requests).toEqual([`CONNECT 127.0.0.1:${service.port}`]);
  });

  test('forwards the requests to a service over http', async () => {
    const [server, proxy] = [await startApiServer({ body: [] }), await proxied()];
    onTestFinished(() => server.close());
    const { source } = open(server.url, { http_proxy: proxy.host });
    expect(await source.environments()).toEqual([]);
    expect(proxy.requests).toEqual([`GET ${server.url}/public/beta/environments`]);
  });

  test('is not used for what NO_PROXY lists', async () => {
    const proxy = await proxied();
    const { source } = open(serviceUrl(), { HTTPS_PROXY: proxy.host, NO_PROXY: 'example.com, 127.0.0.1' });
    expect(await source.environments()).toHaveLength(1);
    expect(proxy.requests).toEqual([]);
  });

  test.each([
    ['https', (): string => serviceUrl(), 'CONNECT'],
    ['http', (): string => 'http://127.0.0.1:9', 'GET'],
  ] as const)(
    'that refuses a request over %s is named with its answer, without its password',
    async (scheme, urlOf, method) => {
      const proxy = await proxied('user:right');
      const url = urlOf();
      const { source } = open(url, { [`${scheme}_proxy`]: `http://user:wrong@${proxy.host}` });
      const { message } = await failureOf(source.environments());
      expect(message).toContain(`the proxy ${proxy.host} did not connect to ${new URL(url).host}: `);
      expect(message).toContain('407');
      expect(message).not.toMatch(new RegExp(`wrong|${TOKEN}`));
      // It may be overloaded for a moment.
      expect(proxy.requests.map((request) => request.split(' ')[0])).toEqual([method, method, method]);
    },
  );

  test('that is down is named', async () => {
    const { source } = open(serviceUrl(), { HTTPS_PROXY: '127.0.0.1:9' }, { retries: 0 });
    const { message } = await failureOf(source.environments());
    expect(message).toContain(`127.0.0.1:${service.port} (proxy: 127.0.0.1:9) failed (ECONNREFUSED)`);
  });
});

describe('the variables of proxies', () => {
  const [url, proxy] = ['https://api.example.com', 'http://proxy.example.com:3128/'];

  test('are read in small letters first, and a proxy without a scheme is one over http', () => {
    const env = {
      https_proxy: 'proxy.example.com:3128',
      HTTPS_PROXY: 'http://other',
      no_proxy: '.local',
      HTTP_PROXY: '',
    };
    expect(proxiesOf(url, env)).toEqual({ httpProxy: '', httpsProxy: proxy, noProxy: '.local' });
  });

  test('do not lead to a service of this machine through another machine (R25)', () => {
    const env = { HTTP_PROXY: proxy, HTTPS_PROXY: 'http://localhost:3128/' };
    expect(proxiesOf('http://127.0.0.1:8484', env)).toMatchObject({ httpProxy: '', httpsProxy: env.HTTPS_PROXY });
    expect(proxiesOf(url, env)).toMatchObject({ httpProxy: proxy });
  });

  test.each(['socks5://user:secret@proxy', 'http://user:secret@', 'http://a b:secret', 'http://u:secret%!@proxy'])(
    'are errors of use without a proxy over http or https, and the value stays secret: %s',
    (HTTPS_PROXY) => {
      expect(() => proxiesOf(url, { HTTPS_PROXY })).toThrow(
        expect.objectContaining({ recovery: 'usage', message: expect.not.stringContaining('secret') }),
      );
    },
  );
});
