import { DAY_MS } from '../../core/time/duration.ts';
import { pathsOf } from '../build-manifest.ts';
import { MANIFEST_NAME } from '../manifest.ts';
import { isHidden, isLogPath, isOwnPath, isSharedName } from '../partition-path.ts';
import type { BucketImage, ImageChange } from './bucket-image.ts';
import type { StoredObject } from './object-store.ts';

/** Changes by path, which may happen in any order. */
type UploadStep = ReadonlyMap<string, ImageChange>;

/**
 * What an upload does, in this order; what is in one step may happen in any order. New data files come first, then the
 * manifest, then the rest as an export to a folder changes it. The manifest is written even if it stays the same, so
 * that of two exports at the same time one fails.
 * @param gone the objects that the image no longer has
 */
export function planUpload(
  { objects, previous }: Pick<BucketImage, 'objects' | 'previous'>,
  changes: ReadonlyMap<string, ImageChange>,
  gone: readonly string[],
  nowMs: number,
) {
  const others = [...changes].filter(([path]) => path !== MANIFEST_NAME);
  const isData = ([path, { type }]: readonly [string, ImageChange]): boolean => type === 'write' && isOwnPath(path);
  const [data, rest] = [others.filter(isData), others.filter((each) => !isData(each))];
  const writes = [new Map(data), new Map(changes.size > 0 ? [[MANIFEST_NAME, WRITE]] : []), ...inSteps(rest, objects)];
  const named = pathsOf(previous);
  const removable = gone.filter((path) => named.has(path) || !mayBeOfAnotherExport(objects.get(path), nowMs));
  const [logs, files] = [removable.filter(isLogPath), removable.filter((path) => !isLogPath(path))];
  // Newest commit first, one by one: what a killed export leaves of a log is a log.
  const commits = logs
    .sort()
    .reverse()
    .map((path) => [path]);
  const removals = [...commits, files.filter((path) => !isHidden(path)), files.filter(isHidden)];
  return { writes: writes.filter(({ size }) => size > 0), removals: removals.filter(({ length }) => length > 0) };
}

const WRITE = { type: 'write', isNew: false } as const;

/** Neighbouring copies that all replace objects, or that all do not, are one step; so is any other change alone. */
function inSteps(
  changes: readonly (readonly [string, ImageChange])[],
  objects: ReadonlyMap<string, StoredObject>,
): UploadStep[] {
  const steps: Map<string, ImageChange>[] = [];
  let last = '';
  for (const [path, change] of changes) {
    const kind = change.type === 'copy' ? `copy, replaces: ${objects.has(path)}` : path;
    if (kind !== last) steps.push(new Map());
    steps.at(-1)?.set(path, change);
    last = kind;
  }
  return steps;
}

/**
 * Whether an export in progress, which has ended within a day, may be about to name an unnamed object: storage has no
 * lock. Copies in the folders of the tables are only made after a manifest.
 */
function mayBeOfAnotherExport(object: StoredObject | undefined, nowMs: number): boolean {
  if (object === undefined || isLogPath(object.path) || isSharedName(object.path)) return false;
  return object.modifiedMs > nowMs - DAY_MS;
}
