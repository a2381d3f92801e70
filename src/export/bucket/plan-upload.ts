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
  const writes = [
    new Map(data),
    new Map(changes.size > 0 ? [[MANIFEST_NAME, WRITE]] : []),
    ...adjacent(rest, (path, { type }) => (type === 'copy' ? `copy, replaces: ${objects.has(path)}` : path)),
  ];
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

/** Joins neighbours of one kind. */
function adjacent(
  changes: readonly (readonly [string, ImageChange])[],
  kindOf: (path: string, change: ImageChange) => string,
): UploadStep[] {
  const steps: { readonly kind: string; readonly step: Map<string, ImageChange> }[] = [];
  for (const [path, change] of changes) {
    const kind = kindOf(path, change);
    if (steps.at(-1)?.kind !== kind) steps.push({ kind, step: new Map() });
    steps.at(-1)?.step.set(path, change);
  }
  return steps.map(({ step }) => step);
}

/**
 * Whether an export in progress, which has ended within a day, may be about to name an unnamed object: storage has no
 * lock. Copies in the folders of the tables are only made after a manifest.
 */
function mayBeOfAnotherExport(object: StoredObject | undefined, nowMs: number): boolean {
  if (object === undefined || isLogPath(object.path) || isSharedName(object.path)) return false;
  return object.modifiedMs > nowMs - DAY_MS;
}
