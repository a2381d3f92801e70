import type { CompareDepth, RowDifference } from '../core/decide/difference.ts';
import type { RecoveryKind } from '../core/errors.ts';
import type { StreamName } from '../core/stream.ts';
import type { Instant } from '../core/time/instant.ts';
import type { FieldValues } from './field-values.ts';

/** A row that differs between mirror and source. */
export interface VerifyFinding<Name extends StreamName = StreamName> {
  readonly env_id: string;
  readonly environment: string;
  readonly stream: Name | 'environments';
  /** `unsynced` stands for a whole stream that was never synced to its end. */
  readonly what: RowDifference['what'] | 'unsynced';
  /** The row's key by field; empty if it has none. */
  readonly key: Readonly<Record<string, string>>;
  /** The fields in which an unequal row differs. */
  readonly fields: readonly string[];
  /** What both sides have in these fields. */
  readonly values: readonly FieldValues[];
  readonly why: string | null;
  /** With `--repair`: whether both sides are equal now. */
  readonly repaired: boolean;
}

/** How one stream of one environment compares. */
export interface StreamReport<Name extends StreamName = StreamName> {
  readonly env_id: string;
  readonly environment: string;
  readonly stream: Name;
  /**
   * - `equal`: also with differences that the next sync removes
   * - `different`
   * - `repaired`: everything that differed was repaired
   * - `unsure`: with differences that no second request confirmed
   * - `unsynced`: never synced to its end
   * - `unavailable`: not live at the source (404)
   * - `failed`: could not be read
   * - `stopped`: not compared, or only in part
   */
  readonly status: 'equal' | 'different' | 'repaired' | 'unsure' | 'unsynced' | 'unavailable' | 'failed' | 'stopped';
  /** Rows that the source returned. */
  readonly rows: number;
  /** Differences confirmed by a second request. */
  readonly missing: number;
  readonly extra: number;
  readonly unequal: number;
  /** Differences not confirmed by a second request; there may be none. */
  readonly possible: number;
  /** Differences that the next sync removes. */
  readonly pending: number;
  readonly requests: number;
  readonly error: string | null;
}

/** A verification in one document, which `verify --json` prints. `Name` is a stream name of the catalogue. */
export interface VerifyReport<Name extends StreamName = StreamName> {
  /** Null if no difference was confirmed, but not everything was compared or requested a second time. */
  readonly equal: boolean | null;
  readonly depth: CompareDepth;
  readonly server_time: Instant | null;
  readonly requests: number;
  readonly environments: readonly { readonly env_id: string; readonly environment: string }[];
  readonly streams: readonly StreamReport<Name>[];
  /** Rows that still differed when requested again by their ids. */
  readonly findings: readonly VerifyFinding<Name>[];
  readonly possible: readonly VerifyFinding<Name>[];
  readonly pending: readonly VerifyFinding<Name>[];
  /** Possible and pending rows that are counted above but not listed. */
  readonly not_listed: number;
  /** What this verification did not compare, in words. */
  readonly not_looked_at: readonly string[];
  /** With `--repair`: its run in `sync_runs`, and what it could not repair, in words. */
  readonly repair: { readonly run: number; readonly not_repaired: readonly string[] } | null;
  readonly error: string | null;
  /** What the caller must do about `error`, see `RecoveryKind`. */
  readonly recovery: RecoveryKind | null;
}
