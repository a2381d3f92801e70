import { expect, test } from 'vitest';
import { cacheMeasurements, type MeasuredMirror, noRows } from '../../src/metrics/cache-measurements.ts';
import { MEASUREMENTS } from '../../src/metrics/measurements.ts';

/** A mirror in this state, whose measurements arrive when they are released. */
function slowMirror() {
  const pending: PromiseWithResolvers<void>[] = [];
  const mirror = { state: 'one', measured: 0 };
  const ports: MeasuredMirror = {
    read: async (statements) => ({ ...noRows(statements), state: [{ state: mirror.state }] }),
    async measure() {
      mirror.measured += 1;
      const release = Promise.withResolvers<void>();
      pending.push(release);
      await release.promise;
      return noRows(MEASUREMENTS);
    },
  };
  return { mirror, measurements: cacheMeasurements(ports), next: () => pending.shift() };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

test('a mirror is measured again only after it has changed', async () => {
  const { mirror, measurements, next } = slowMirror();
  const both = [measurements(), measurements()];
  await settle();
  next()?.resolve();
  const [one] = await Promise.all(both);
  expect(await measurements()).toBe(one);
  expect(mirror.measured).toBe(1);
  mirror.state = 'two';
  const later = measurements();
  await settle();
  next()?.resolve();
  expect(await later).not.toBe(one);
});

test('a mirror that changes while it is measured is measured once more, afterwards', async () => {
  const { mirror, measurements, next } = slowMirror();
  const first = measurements();
  await settle();
  mirror.state = 'two';
  const second = measurements();
  await settle();
  expect(mirror.measured).toBe(1);
  next()?.resolve();
  await first;
  await settle();
  expect(mirror.measured).toBe(2);
  next()?.resolve();
  await second;
});

test('a failed measurement is tried again', async () => {
  const { measurements, next } = slowMirror();
  const failed = measurements();
  await settle();
  next()?.reject(new Error('the database is away'));
  await expect(failed).rejects.toThrow('away');
  const again = measurements();
  await settle();
  next()?.resolve();
  expect(await again).toBeDefined();
});
