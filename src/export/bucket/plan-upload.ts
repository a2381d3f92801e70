import { pathsOf } from '../build-manifest.ts';
import { LOG_NAME } from '../delta/delta-log.ts';
import { type ExportManifest, MANIFEST_NAME } from '../manifest.ts';
import { FILES_FOLDER, isOwnPath } from '../partition-path.ts';
import type { BucketImage, ImageChange } from './bucket-image.ts';
import type { StoredObject } from './object-store.ts';

type ObjectChange = ImageChange | { readonly type: 'remove' };

/** Changes by path, which may happen in any order. */
type UploadStep = ReadonlyMap<string, ObjectChange>;

/**
 * The steps that bring a bucket in line with an image: new data files, the manifest, then the rest in the order in which
 * an export to a folder changes it, and at last what is gone from the image.
 */
export function planUpload(
  { objects, previous }: Pick<BucketImage, 'objects' | 'previous'>,
  changes: ReadonlyMap<string, ImageChange>,
  gone: readonly string[],
  nowMs: number,
): UploadStep[] {
  const others = [...changes].filter(([path]) => path !== MANIFEST_NAME);
  const isData = ([path, { type }]: readonly [string, ImageChange]): boolean => type === 'write' && isOwnPath(path);
  const kindOf = (path: string, { type }: ImageChange): string =>
    type === 'copy' ? `copy, replaces: ${objects.has(path)}` : path;
  const removable = gone.filter((path) => !isYoungStray(objects.get(path), previous, nowMs));
  return [
    new Map(others.filter(isData)),
    // Without changes of its own, too: files that are younger than the manifest are not trusted.
    new Map(changes.size > 0 ? [[MANIFEST_NAME, WRITE]] : []),
    ...adjacent(
      others.filter((each) => !isData(each)),
      kindOf,
    ),
    ...REMOVED_IN_ORDER.map((isKind) => new Map(removable.filter(isKind).map((path) => [path, REMOVE]))),
  ].filter(({ size }) => size > 0);
}

const WRITE = { type: 'write', isNew: false } as const;
const REMOVE = { type: 'remove' } as const;

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

const isLog = (path: string): boolean => path.includes(`/${LOG_NAME}/`);
const isHidden = (path: string): boolean => path.startsWith(FILES_FOLDER);

/** A log goes before the files that it names, and what a glob finds before the rest. */
const REMOVED_IN_ORDER: readonly ((path: string) => boolean)[] = [
  isLog,
  (path) => !isLog(path) && !isHidden(path),
  isHidden,
];

/**
 * Whether no manifest names the object yet, but that of another export in progress may do so: storage has no lock. Such
 * an export has ended within a day. What a glob finds is written after its manifest, except in Delta tables.
 */
function isYoungStray(object: StoredObject | undefined, previous: ExportManifest | null, nowMs: number): boolean {
  if (object === undefined || isLog(object.path)) return false;
  if (previous?.format !== 'delta' && !isHidden(object.path)) return false;
  return !pathsOf(previous).has(object.path) && object.modifiedMs > nowMs - STRAY_MS;
}

const STRAY_MS = 86_400_000;
