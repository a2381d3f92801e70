import { expect, test } from 'vitest';
import { each } from './every.ts';
import { restore, statesOf } from './points.ts';
import { carryOn, expectCarriesOn, SCENES } from './reference.ts';
import type { Scene } from './scenes.ts';

test.each(SCENES)(
  'a stop at any statement or request of %s costs only the current page, and the next run completes it (R5, R6)',
  async (_, stage) => {
    const { scene, reference } = await stage();
    const states = await statesOf(scene);
    expect(states.length).toBeGreaterThan(40);
    for (const { files, last } of each(states, 12)) await expectCarriesOn(scene, restore(files), reference, last);
  },
);

const STREAMS_AT_ONCE = 3;

test.each(each(SCENES, 3))(
  'with several streams in flight, a stop in %s costs at most one page of each (R5, R6)',
  async (_, stage) => {
    const { scene, reference } = await stage();
    let most = 0;
    for (const { files, last } of each(await statesOf(inParallel(scene)), 25)) {
      const again = await carryOn(inParallel(scene), restore(files), reference, { ...last, inFlight: new Map() });
      for (const [path, pages] of again) {
        // Several histories are read concurrently, and each is a separate list (R22).
        const lists = path === 'executions' ? STREAMS_AT_ONCE : 1;
        expect(pages, `${path}, ${last.label}`).toBeLessThanOrEqual(lists);
      }
      most = Math.max(most, again.length);
    }
    expect(most).toBeLessThanOrEqual(STREAMS_AT_ONCE);
  },
);

const HOUR_MS = 3_600_000;

test.each(each(SCENES, 3))(
  'a stop while unchanged pages of %s wait to be committed loses nothing (R5, R6)',
  async (_, stage) => {
    const { scene, reference } = await stage();
    const waiting = { ...scene, options: { ...scene.options, quietMs: HOUR_MS } };
    const states = await statesOf(waiting);
    expect(states.length).toBeLessThan((await statesOf(scene)).length);
    for (const { files, last } of each(states, 12)) {
      const again = await carryOn(scene, restore(files), reference, last);
      // Only discarded pages are requested again, so no list is read more than twice.
      for (const [path, pages] of again)
        expect(pages, `${path}, ${last.label}`).toBeLessThanOrEqual(last.requests.get(path) ?? 0);
    }
  },
);

function inParallel(scene: Scene): Scene {
  const parallel = { concurrency: STREAMS_AT_ONCE };
  return { ...scene, options: { ...scene.options, ...parallel }, nextOptions: { ...scene.nextOptions, ...parallel } };
}
