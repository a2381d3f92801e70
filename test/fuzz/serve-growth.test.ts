import { describe, expect, test, vi } from 'vitest';
import { serveSmallWorld } from '../server/refusal.ts';

const world = serveSmallWorld();

async function ask(url: string, method: 'GET' | 'HEAD' | 'POST' = 'GET', token = 'secret'): Promise<{ body: string }> {
  return (await world.server).inject({ method, url, headers: { authorization: `Bearer ${token}` } });
}

describe('what a server keeps of any number of requests', () => {
  test('the number of its cached statements is bounded', async () => {
    const { mirror } = world;
    const names = ['ids', 'asset_ids', 'test_types', 'definition_types', 'source_types', 'tags'];
    const shapes = Array.from({ length: 512 }, (_, i) => {
      const given = names.filter((_, bit) => (i >> bit) & 1).map((name) => `${name}=x`);
      return `e/tests?${[...given, `disabled=${i & 64 ? 'true' : 'false'}`, `order_by=${i & 128 ? 'synced_at' : 'id'}`, `direction=${i & 256 ? 'desc' : 'asc'}`].join('&')}`;
    });
    const prepare = vi.spyOn(mirror.connection, 'prepare');
    const prepared = async (path: string): Promise<number> => {
      prepare.mockClear();
      expect((await world.get(path)).status).toBe(200);
      return prepare.mock.calls.length;
    };
    const first = shapes[0] as string;
    await prepared(first);
    expect(await prepared(first)).toBe(0);
    for (const shape of shapes) await prepared(shape);
    expect(await prepared(first)).toBeGreaterThan(0);
    prepare.mockRestore();
  });

  test('the number of its metrics doesn’t grow with odd addresses, methods and tokens', async () => {
    const series = async (): Promise<number> => (await ask('/metrics')).body.split('\n').length;
    const roam = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++)
        for (const method of ['GET', 'HEAD', 'POST'] as const)
          await ask(`/${i % 2 ? '' : 'public/beta/e/assets/'}odd-${i}`, method, i % 3 ? 'secret' : `${i}`);
    };
    await ask('/metrics');
    await roam(0, 6);
    const before = await series();
    await roam(6, 60);
    expect(await series()).toBe(before);
  });
});
