import { expect } from 'vitest';
import type { World } from '../model/world.ts';
import { type Contents, contentsOf, sidesOf } from './outcome.ts';
import { countOf, type Point, type Requests } from './points.ts';
import { MAKERS, type Scene } from './scenes.ts';
import { type SyncFileOptions, syncFile } from './sync-file.ts';

/** The result of two undisturbed runs of a scene, and the requests of each. */
export interface Reference {
  readonly contents: Contents;
  readonly first: Requests;
  readonly second: Requests;
  /** The requests of a first run with the options of the next one. */
  readonly instead: Requests;
}

/** A scene with its reference. */
export interface Staged {
  readonly scene: Scene;
  readonly reference: Reference;
}

/** Each kind of sync by name, created on first use. No time passes in its world. */
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

/** Runs a sync that must succeed, at the world's current time. @returns its requests */
async function runWell(world: World, path: string, options: SyncFileOptions, label?: string): Promise<Requests> {
  const from = world.log.length;
  const { summary, error } = await syncFile(path, world, options);
  expect({ status: summary?.status, error }, label).toEqual({ status: 'done', error: null });
  return countOf(world.log.slice(from));
}

/** The next run after a point succeeds, equals the reference, and repeats only the interrupted request. */
export async function expectCarriesOn(scene: Scene, path: string, reference: Reference, point: Point): Promise<void> {
  expect(await carryOn(scene, path, reference, point), point.label).toEqual([]);
}

/** The next run after a point must succeed and equal the reference. @returns its excess requests, by collection */
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
 * Requests of an interrupted run and the next one beyond what R6 allows, by collection. The first round may take what
 * it takes undisturbed. Once one of its pages is committed, the next run reads another round, like an undisturbed
 * second run. Requests whose pages were not committed are repeated.
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
