import { expect, onTestFinished, test } from 'vitest';
import { serveMetrics } from '../../src/api/serve-metrics.ts';

test('serveMetrics answers 503 while the database is unreachable, and recovers with it', async () => {
  const texts = [Promise.reject(new Error('the database is away')), Promise.resolve('a 1\n')];
  texts[0]?.catch(() => {});
  const endpoint = await serveMetrics(
    { metricsPort: 0 },
    { contentType: 'text/plain', onEvent: () => {}, text: () => texts.shift() ?? Promise.resolve('') },
  );
  onTestFinished(() => endpoint?.close());
  const ask = () => fetch(endpoint?.url ?? '');
  expect((await ask()).status).toBe(503);
  expect(await (await ask()).text()).toBe('a 1\n');
});

test('serveMetrics answers GET and HEAD whatever the query, and no other method or path', async () => {
  const endpoint = await serveMetrics(
    { metricsPort: 0 },
    { contentType: 'text/plain', onEvent: () => {}, text: async () => 'a 1\n' },
  );
  onTestFinished(() => endpoint?.close());
  const url = endpoint?.url ?? '';
  expect(await (await fetch(`${url}?module=a&b=1`)).text()).toBe('a 1\n');
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(`${url}/more`)).status).toBe(404);
  for (const method of ['DELETE', 'POST', 'OPTIONS']) {
    const { status, headers } = await fetch(url, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  }
});
