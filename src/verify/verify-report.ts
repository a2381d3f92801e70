import type { CompareDepth, RowDifference } from '../core/difference.ts';
import type { RecoveryKind } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import type { StreamName } from '../core/stream.ts';

/** One row in which the mirror differs from the source. */
export interface VerifyFinding {
  readonly env_id: string;
  readonly environment: string;
  readonly stream: StreamName | 'environments';
  /** `unsynced` speaks of a whole stream that was never synced to its end. */
  readonly what: RowDifference['what'] | 'unsynced';
  /** The row's key by field; empty when it has none. */
  readonly key: Readonly<Record<string, string>>;
  /** Of an unequal row: what differs. */
  readonly fields: readonly string[];
  readonly why: string | null;
  /** With `--repair`: whether both sides are equal now. */
  readonly repaired: boolean;
}

/** How one stream of one environment compares. */
export interface StreamReport {
  readonly env_id: string;
  readonly environment: string;
  readonly stream: StreamName;
  /**
   * `equal`, also with changes that the next sync brings; `different`; `repaired`, all that differed; `unsure`, differing as far as
   * it was looked at, but not looked at again; `unsynced`, never synced to its end; `unavailable`, not live at the source
   * (404); `failed`, could not be read; `stopped`, not or not wholly looked at
   */
  readonly status: 'equal' | 'different' | 'repaired' | 'unsure' | 'unsynced' | 'unavailable' | 'failed' | 'stopped';
  /** Rows the source showed. */
  readonly rows: number;
  /** Differences that were looked at again and stood. */
  readonly missing: number;
  readonly extra: number;
  readonly unequal: number;
  /** Differences that were not looked at again, which may be none. */
  readonly possible: number;
  /** What the next sync brings. */
  readonly pending: number;
  readonly requests: number;
  readonly error: string | null;
}

/** A verification in one document: what `verify --json` prints. */
export interface VerifyReport {
  /** Null when no difference has stood so far, and not all was looked at, or looked at again. */
  readonly equal: boolean | null;
  readonly depth: CompareDepth;
  readonly server_time: Instant | null;
  readonly requests: number;
  readonly environments: readonly { readonly env_id: string; readonly environment: string }[];
  readonly streams: readonly StreamReport[];
  /** What was asked for once more by its id, and differed still. */
  readonly findings: readonly VerifyFinding[];
  readonly possible: readonly VerifyFinding[];
  readonly pending: readonly VerifyFinding[];
  /** Possible and pending rows that are counted above and not listed. */
  readonly not_listed: number;
  /** What this verification did not look at, in words. */
  readonly not_looked_at: readonly string[];
  /** With `--repair`: its run in `sync_runs`, and what it could not mend, in words. */
  readonly repair: { readonly run: number; readonly not_repaired: readonly string[] } | null;
  readonly error: string | null;
  /** What the caller has to do about `error` (see `RecoveryKind`). */
  readonly recovery: RecoveryKind | null;
}
