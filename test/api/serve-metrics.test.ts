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
