import { expect } from 'vitest';
import type { World } from '../model/world.ts';
import { type Contents, contentsOf, sidesOf } from './outcome.ts';
import { countOf, type Point, type Requests } from './points.ts';
import { MAKERS, type Scene } from './scenes.ts';
import { type SyncFileOptions, syncFile } from './sync-file.ts';

/** What two undisturbed runs of a scene leave, and the requests of each. */
export interface Reference {
  readonly contents: Contents;
  readonly first: Requests;
  readonly second: Requests;
  /** Those of a run by the wishes for the next one, in place of the first. */
  readonly instead: Requests;
}

/** A scene with what it is held to. */
export interface Staged {
  readonly scene: Scene;
  readonly reference: Reference;
}

/** Each kind of sync by its name, made when it is first asked for: its world stands still. */
export const SCENES: [string, () => Promise<Staged>][] = Object.entries(MAKERS).map(([name, make]) => {
  let staged: Promise<Staged> | null = null;
  const stage = async (): Promise<Staged> => {
    const scene = await make();
    return { scene, reference: await referenceOf(scene) };
  };
  return [
    name,
    () => {
      staged ??= stage();
      return staged;
    },
  ];
});

async function referenceOf(scene: Scene): Promise<Reference> {
  const path = scene.fresh();
  scene.world.nowMs = scene.atMs;
  const first = await runWell(scene.world, path, scene.options);
  const second = await runWell(scene.world, path, scene.nextOptions);
  scene.world.nowMs = scene.atMs;
  const same = JSON.stringify(scene.options) === JSON.stringify(scene.nextOptions);
  const instead = same ? first : await runWell(scene.world, scene.fresh(), scene.nextOptions);
  const { mirror, world } = sidesOf(path, scene.world);
  expect(mirror).toEqual(world);
  return { contents: contentsOf(path), first, second, instead };
}

/** A run that has to end well, from where the world's clock stands. @returns its requests */
async function runWell(world: World, path: string, options: SyncFileOptions, label?: string): Promise<Requests> {
  const from = world.log.length;
  const { summary, error } = await syncFile(path, world, options);
  expect({ status: summary?.status, error }, label).toEqual({ status: 'done', error: null });
  return countOf(world.log.slice(from));
}

/** The next run after a point: it ends well and equal, and asks for nothing twice but what was cut off. */
export async function expectCarriesOn(scene: Scene, path: string, reference: Reference, point: Point): Promise<void> {
  expect(await carryOn(scene, path, reference, point), point.label).toEqual([]);
}

/** The next run after a point, which ends well and equal. @returns how many requests too many it took, by collection */
export async function carryOn(
  scene: Scene,
  path: string,
  reference: Reference,
  point: Point,
): Promise<[string, number][]> {
  scene.world.nowMs = point.nowMs;
  const next = await runWell(scene.world, path, scene.nextOptions, point.label);
  expect(contentsOf(path), point.label).toEqual(reference.contents);
  expect(scene.world.violations).toEqual([]);
  return excess(reference, point, next);
}

/**
 * Requests of a run that was cut off and of the next, beyond what R6 demands, by collection: its first round takes what
 * it takes undisturbed, in the run that begins it; once a page of it is kept, the next run reads one more round, as an
 * undisturbed second run does; what was asked for and not kept is asked for again.
 */
function excess(
  { first, second, instead }: Reference,
  { requests, inFlight }: Point,
  next: Requests,
): [string, number][] {
  return [...next].flatMap(([path, sent]) => {
    const [before, lost] = [requests.get(path) ?? 0, inFlight.get(path) ?? 0];
    const [once, other] = [first.get(path) ?? 0, instead.get(path) ?? 0];
    const most = Math.max(other, before > lost ? once + (second.get(path) ?? 0) : once);
    const beyond = before + sent - most - lost;
    return path !== 'environments' && beyond > 0 ? [[path, beyond]] : [];
  });
}
