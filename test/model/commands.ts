import type { SyncError } from '../../src/core/errors.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { Action } from './actions.ts';
import type { WireFault } from './wire-faults.ts';
import type { World } from './world.ts';

/** A fault of one run. `at` is the number of the request or commit that it hits, from 1. */
export type RunFault =
  | { readonly type: 'act'; readonly at: number; readonly action: Action }
  | { readonly type: 'error'; readonly at: number; readonly recovery: SyncError['recovery'] }
  | { readonly type: 'expire-cursors' | 'abort' | 'crash'; readonly at: number }
  /** The response's `Date` is off by `hours` (R1). */
  | { readonly type: 'wrong-date'; readonly at: number; readonly hours: number }
  /** The run waits before the request: for quota, or because it reads a lot. */
  | { readonly type: 'delay'; readonly at: number; readonly days: number }
  | { readonly type: 'crash-before-commit' | 'crash-after-commit'; readonly at: number }
  /** Here `at` counts the commits of one stream. */
  | { readonly type: 'crash-in-stream'; readonly stream: CollectionName; readonly at: number };

export interface SyncCommand {
  readonly type: 'sync';
  readonly pageSize: number;
  readonly concurrency: number;
  readonly full: boolean;
  readonly fullEveryDays: number | 'auto';
  readonly history: boolean;
  readonly only: readonly CollectionName[] | undefined;
  readonly maxRequests: number | undefined;
  readonly allowShrink: boolean;
  /** Whether the run keeps as little of the histories as it may (R17). */
  readonly prunes: boolean;
  readonly overlapSeconds: number;
  readonly faults: readonly RunFault[];
  /** Faults of its requests. Only `simulateOverHttp` applies them. */
  readonly wireFaults: readonly WireFault[];
}

export type Command =
  | SyncCommand
  | { readonly type: 'act' | 'act-late'; readonly action: Action }
  /** Restores an asset and its columns soon after the mirror saw their tombstones; only the asset is touched (R13). */
  | { readonly type: 'restore'; readonly n: number }
  | { readonly type: 'advance'; readonly seconds: number }
  | { readonly type: 'mirror-clock'; readonly hours: number }
  /** Sets the service's own clock. */
  | { readonly type: 'service-clock'; readonly minutes: number }
  | { readonly type: 'dates'; readonly dates: World['dates'] }
  /** Puts a cache in front of the list of environments, or removes it (R1). */
  | { readonly type: 'cache'; readonly as: 'aged' | 'ageless' | 'none' }
  | { readonly type: 'permission'; readonly collection: string; readonly as: 'denied' | 'notLive' | 'open' };

export const PLAIN_SYNC: SyncCommand = {
  wireFaults: [],
  type: 'sync',
  pageSize: 3,
  concurrency: 2,
  full: false,
  fullEveryDays: 7,
  history: true,
  only: undefined,
  maxRequests: undefined,
  allowShrink: false,
  prunes: false,
  overlapSeconds: 3600,
  faults: [],
};
