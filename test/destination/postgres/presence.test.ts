import { describe, expect, test } from 'vitest';
import { HEARTBEAT_MS, LEASE_MS } from '../../../src/core/schedule/lease.ts';
import type { PostgresAddress } from '../../../src/destination/postgres/address.ts';
import { createPresence, openLastingConnection } from '../../../src/destination/postgres/presence.ts';
import { addressOf } from '../../../src/settings/addresses/mirror-address.ts';
import { START } from '../../support/conformance/workbench.ts';
import { migratedMirror } from './setup.ts';

/** Holds an environment, which takes this long by the clock. @returns the delays of what is then due */
async function delaysAfterHold(tookMs: number): Promise<number[]> {
  const { place } = await migratedMirror();
  const due = new Set<number>();
  let readings = 0;
  const presence = createPresence({
    owner: `took ${tookMs}`,
    connect: () => openLastingConnection(addressOf(`${place.serverUrl}?schema=${place.schema}`) as PostgresAddress),
    nowMs: () => tookMs * readings++,
    after(delayMs) {
      due.add(delayMs);
      return () => void due.delete(delayMs);
    },
    onLapsed: () => undefined,
    sleep: async () => undefined,
    random: () => 0,
  });
  await presence.hold([`e ${tookMs}`], START);
  const delays = [...due].sort((a, b) => a - b);
  await presence.close();
  return delays;
}

describe('after environments were taken (R26)', () => {
  test('quickly, the next heartbeat is due in its time, and the lease lapses in its own', async () => {
    expect(await delaysAfterHold(10)).toEqual([HEARTBEAT_MS, LEASE_MS]);
  });

  test('slowly, a heartbeat is due at once', async () => {
    expect(await delaysAfterHold(5000)).toEqual([0]);
  });
});
