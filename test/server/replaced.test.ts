import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { asset, serve } from './fixture.ts';

test('a mirror file that was replaced or removed is answered with 503 until it is back, by /healthz as well', async () => {
  const { writing, server, get } = serve(({ db }) => void db.insert(assets).values(asset('a')).run());
  const { path } = writing;
  const statuses = async () => {
    const health = await (await server).inject('/healthz');
    return [(await get('e/assets')).status, (await get('e/assets/a')).status, health.statusCode];
  };
  expect(await statuses()).toEqual([200, 200, 200]);
  renameSync(path, `${path}.kept`);
  expect(await statuses()).toEqual([503, 503, 503]);
  copyFileSync(`${path}.kept`, path);
  expect(await statuses()).toEqual([503, 503, 503]);
  expect((await get('e/assets')).body).toEqual({
    error: { code: 'mirror_replaced', message: 'The mirror file was replaced or removed: restart the server' },
  });
  rmSync(path);
  renameSync(`${path}.kept`, path);
  expect(await statuses()).toEqual([200, 200, 200]);
});
