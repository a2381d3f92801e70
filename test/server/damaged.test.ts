import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { REPLICA_ID } from '../../src/destination/sqlite/open.ts';
import { asset, insert, type Served, serve } from './fixture.ts';
import { expectRefusal } from './refusal.ts';

const PAGE_BYTES = 4096;

/**
 * A mirror with many pages of assets, none of them read by the server yet. The last pages of the file are overwritten.
 */
function serveDamaged(options: Parameters<typeof serve>[1] = {}, applicationId = 0): Served {
  const served = serve(({ db, connection }) => {
    connection.pragma(`application_id = ${applicationId}`);
    for (let i = 0; i < 200; i += 1) insert(db, assets, asset(`a${i}`, { description: 'x'.repeat(PAGE_BYTES) }));
  }, options);
  const { path, connection } = served.writing;
  connection.pragma('wal_checkpoint(truncate)');
  connection.close();
  const file = openSync(path, 'r+');
  const { size } = statSync(path);
  const damaged = 150 * PAGE_BYTES;
  writeSync(file, Buffer.alloc(damaged, 0xa5), 0, damaged, size - damaged);
  closeSync(file);
  return served;
}

describe.each([0, 1])('a damaged mirror that is read in %i threads', (threads) => {
  test('it is answered with 503 mirror_damaged, and so is /healthz from then on', async () => {
    const { get, server } = serveDamaged({ threads });
    const health = async () => {
      const { statusCode, body } = await (await server).inject('/healthz');
      return { status: statusCode, body: JSON.parse(body) };
    };
    expect((await health()).status).toBe(200);
    expectRefusal(await get('e/assets?order_by=synced_at'), 503, 'mirror_damaged');
    expectRefusal(await health(), 503, 'mirror_damaged');
    expect((await get('environments')).status).toBe(200);
    expectRefusal(await health(), 503, 'mirror_damaged');
  });

  test('a replica has no backup: a restart makes it again', async () => {
    const { get } = serveDamaged({ threads }, REPLICA_ID);
    const message = expectRefusal(await get('e/assets?order_by=synced_at'), 503, 'mirror_damaged');
    expect(message).toBe('The replica of the mirror is damaged: restart the server, which rebuilds it');
  });
});
