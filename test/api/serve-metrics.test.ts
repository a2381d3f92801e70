import { describe, expect, onTestFinished, test } from 'vitest';
import { type ServedMetrics, serveMetrics } from '../../src/api/serve-metrics.ts';

/** Serves on a free port. @returns a function that requests a path */
async function serving(metrics: Partial<ServedMetrics>) {
  const endpoint = await serveMetrics(
    { metricsPort: 0 },
    { contentType: 'text/plain', text: async () => 'a 1\n', ...metrics },
  );
  onTestFinished(() => endpoint?.close());
  return (path: string, method = 'GET') => fetch(new URL(path, endpoint?.url), { method });
}

describe('serveMetrics', () => {
  test('answers 503 and what to do while the database is unreachable, and recovers with it', async () => {
    const texts = [Promise.reject(new Error('the database is away')), Promise.resolve('a 1\n')];
    texts[0]?.catch(() => {});
    const ask = await serving({ text: () => texts.shift() ?? Promise.resolve('') });
    const answer = await ask('/metrics');
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringMatching(/run obsync status/)]);
    expect(await (await ask('/metrics')).text()).toBe('a 1\n');
  });

  test('answers GET and HEAD whatever the query, and no other method or path', async () => {
    const ask = await serving({});
    expect(await (await ask('/metrics?module=a&b=1')).text()).toBe('a 1\n');
    expect((await ask('/metrics', 'HEAD')).status).toBe(200);
    for (const path of ['/metrics/more', '/healthz', '/']) expect((await ask(path)).status).toBe(404);
    for (const method of ['DELETE', 'POST', 'OPTIONS']) {
      const { status, headers } = await ask('/metrics', method);
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    }
  });

  test('answers /healthz with 503 if the mirror is stale, and with 422 if the age has no unit', async () => {
    const ask = await serving({ health: async (seconds) => ({ status: seconds === 60 ? 'stale' : 'up' }) });
    const answers = await Promise.all(
      ['', '?max_age=2h', '?max_age=1m', '?max_age=60'].map((query) => ask(`/healthz${query}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 503, 422]);
    expect(await answers[2]?.json()).toEqual({ status: 'stale' });
    expect(await answers[3]?.json()).toMatchObject({ error: { code: 'invalid_request' } });
    expect((await ask('/healthz', 'POST')).status).toBe(405);
  });

  test('answers /healthz with 503 if the mirror cannot be read', async () => {
    const ask = await serving({ health: () => Promise.reject(new Error('the database is away')) });
    expect((await ask('/healthz')).status).toBe(503);
  });
});
