import type { Instant } from '../core/time/instant.ts';

/*
 * What the page asks for and is answered. All ids are of one environment, named in the address, except in `MirrorTrust`.
 * A reader who may see only some assets is told of these alone, in rows and in counts.
 */

/** `GET /page/mirror`: can I trust this mirror? The environments that the reader may see, by name. */
export interface MirrorTrust {
  /** The mirror's clock: every answer of the page is of one such instant. */
  readonly now: Instant;
  /**
   * What the reader's limits leave of the mirror: `streams` for some environments or scopes, `assets` for some assets;
   * null for a reader who sees everything.
   */
  readonly limited_to: 'streams' | 'assets' | null;
  /**
   * The last sync that read one of the streams that the reader sees; null before the first, and for a reader who may
   * see only some assets.
   */
  readonly last_run: RunTrust | null;
  /** The last `verify` that was recorded; null if there was none, and for a reader who may not see everything. */
  readonly last_verify: VerifyTrust | null;
  /**
   * The account's quota as the last run left it; null if the source never stated one, and for a reader who may not see
   * everything.
   */
  readonly quota: QuotaTrust | null;
  readonly environments: readonly EnvironmentTrust[];
}

export interface RunTrust {
  readonly run: number;
  /**
   * As in `sync_runs`; a run whose process was killed stays `running`. For a reader who may not see everything it is
   * `done` or `problems`, and like the times it is only of the streams that the reader sees.
   */
  readonly status: string;
  readonly started_at: Instant;
  readonly ended_at: Instant | null;
  /** Null, like `error`, for a reader who may not see everything. */
  readonly requests: number | null;
  readonly error: string | null;
}

export interface VerifyTrust {
  readonly ended_at: Instant;
  readonly equal: boolean;
  readonly difference_count: number;
}

export interface QuotaTrust {
  readonly limit: number;
  readonly window_seconds: number;
  readonly remaining: number;
  readonly noted_at: Instant;
}

export interface EnvironmentTrust {
  readonly env_id: string;
  readonly name: string;
  readonly cron: string | null;
  /** Since when the service no longer lists it; its rows stay in the mirror. */
  readonly missing_since: Instant | null;
  /**
   * Whether the other views show it: one that is no longer listed has none, except in a report that was asked for it.
   */
  readonly has_views: boolean;
  /** What the reader's token may not ask here: the page shows no view of it. */
  readonly denied_scopes: readonly string[];
  readonly streams: readonly StreamTrust[];
}

export interface StreamTrust {
  readonly stream: string;
  /** Live rows; null for a reader who may see only some assets. */
  readonly rows: number | null;
  /**
   * The time up to which the mirror knows this stream to be complete; null if never. The page tells its age by its own
   * clock.
   */
  readonly complete_at: Instant | null;
  /**
   * How it was read last, why, and how that ended: as in `sync_stream_runs`; null for a reader who may see only some
   * assets.
   */
  readonly mode: string | null;
  readonly reason: string | null;
  readonly status: string | null;
  readonly error: string | null;
  /** Null for a reader who may see only some assets, too. */
  readonly ended_at: Instant | null;
  /**
   * Removals held back, rejected rows, stretches of history never read; null for a reader who may see only some assets.
   */
  readonly held_count: number | null;
  readonly rejected_count: number | null;
  readonly gap_count: number | null;
}

/**
 * `GET /page/environments/:env_id/failing`: what fails now? The worst first, at most `limit` rows (100, `?limit=`,
 * `?offset=`).
 */
export interface FailingNow {
  /** All failing sub-tests that the reader sees. */
  readonly total: number;
  readonly rows: readonly FailingSubTest[];
}

export interface FailingSubTest {
  readonly test_id: string;
  readonly test_name: string;
  readonly test_type: string | null;
  readonly severity: string | null;
  readonly sub_test_unique_id: string;
  readonly column_name: string | null;
  readonly quality_dimension: string | null;
  /** `ERROR`, `FAIL` or `WARN`. */
  readonly status: string;
  readonly failure_count: number | null;
  readonly result_reason: string | null;
  readonly exception: string | null;
  /** Start of the first run of the open incident; the latest run's start if no history is mirrored. */
  readonly since: Instant | null;
  readonly asset: AssetLabel | null;
  /** The test's owners, or else the asset's. */
  readonly owners: readonly string[];
  /** Assets downstream of the tested one, and how many of these are dashboards and their like. */
  readonly downstream_count: number;
  readonly downstream_bi_count: number;
  /** Whether the counts stopped at their bound: there are more. */
  readonly downstream_cut: boolean;
  /** The nearest ancestor that has a failing test too, its probable cause; null if there is none. */
  readonly cause:
    | (AssetLabel & { readonly depth: number; readonly test_id: string; readonly test_name: string })
    | null;
  /** The last runs of this sub-test, oldest first, at most 30. */
  readonly history: readonly { readonly start_time: Instant; readonly status: string }[];
}

/** An asset as a list shows it. */
export interface AssetLabel {
  readonly id: string;
  /** Null if the mirror has no live asset of this id. */
  readonly name: string | null;
  readonly kind: string | null;
}

/**
 * `GET /page/environments/:env_id/trends?by=owner|schema|test_type|tag&days=30`: is it getting better? Without `by` one
 * group, whose name is null. At most the 20 groups with the most runs.
 */
export interface Trends {
  /** The UTC days shown, oldest first, without holes, such as `2026-11-20`. */
  readonly days: readonly string[];
  readonly groups: readonly TrendGroup[];
  /** Mean scores by day of all scored assets: `total` and each dimension. Null where no score is of that day. */
  readonly health: readonly { readonly dimension: string; readonly scores: readonly (number | null)[] }[];
  /** More groups than shown. */
  readonly cut: boolean;
}

/** One value for each of `Trends.days`. */
export interface TrendGroup {
  /** Null for what has no owner, schema, type or tag, and for the only group of a trend without `by`. */
  readonly name: string | null;
  readonly run_count: readonly number[];
  /** 0 to 1; null on days without a run that came to a verdict. */
  readonly pass_rate: readonly (number | null)[];
  readonly incidents_opened: readonly number[];
  readonly incidents_resolved: readonly number[];
  /** Incidents of enabled tests that are open now. */
  readonly open_count: number;
  /** Mean hours of the incidents that were resolved in these days; null if none was. */
  readonly mean_hours_to_resolve: number | null;
}

/**
 * `GET /page/environments/:env_id/untested`: what is untested and matters? Live tables by the number of assets
 * downstream, the most first, at most `limit` rows (100, `?limit=`, `?offset=`; `?all=true` shows tested tables too).
 */
export interface UntestedTables {
  readonly table_count: number;
  readonly tested_table_count: number;
  readonly column_count: number;
  readonly tested_column_count: number;
  readonly total: number;
  readonly rows: readonly UntestedTable[];
}

export interface UntestedTable {
  readonly asset: AssetLabel;
  readonly db_name: string | null;
  readonly schema_name: string | null;
  readonly owners: readonly string[];
  readonly test_count: number;
  readonly column_count: number;
  readonly tested_column_count: number;
  readonly downstream_count: number;
  readonly downstream_bi_count: number;
  /** Whether the counts stopped at their bound: there are more. */
  readonly downstream_cut: boolean;
}

/**
 * `GET /page/environments/:env_id/search?q=…`: live assets whose name, id, qualified name or path holds the text, the
 * best match first, at most 50.
 */
export interface AssetsFound {
  readonly rows: readonly (AssetLabel & { readonly path: string | null; readonly platform: string | null })[];
  readonly cut: boolean;
}

/** `GET /page/environments/:env_id/asset?id=…`: one live asset. 404 if there is none, or the reader may not see it. */
export interface AssetDetail {
  readonly asset: AssetLabel;
  /** Database, schema and table, joined by points; null for an asset without any. */
  readonly qualified_name: string | null;
  readonly path: string | null;
  readonly platform: string | null;
  readonly description: string | null;
  readonly url: string | null;
  readonly owners: readonly string[];
  readonly tags: readonly string[];
  readonly updated_at: Instant | null;
  readonly column_count: number;
  /** The latest score of `total` and of each dimension, 0 to 1. */
  readonly scores: readonly { readonly dimension: string; readonly score: number | null }[];
  /** The asset's enabled tests, failing ones first, at most 200; null if the reader lacks the scope. */
  readonly tests: readonly AssetTest[] | null;
  /** Null if the reader lacks the scope. */
  readonly test_count: number | null;
}

export interface AssetTest {
  readonly test_id: string;
  readonly test_name: string;
  readonly test_type: string | null;
  readonly severity: string | null;
  readonly column_name: string | null;
  readonly status: string | null;
  readonly start_time: Instant | null;
}

/** `GET /page/environments/:env_id/columns?asset_id=…&offset=0`: the columns of an asset by name, at most 200. */
export interface AssetColumns {
  readonly total: number;
  readonly rows: readonly {
    readonly id: string;
    readonly name: string;
    readonly data_type: string | null;
    /** Enabled tests that name the column; null if the reader lacks the scope. */
    readonly tests: number | null;
  }[];
}

/**
 * `GET /page/environments/:env_id/neighbours?id=…&direction=upstream|downstream&offset=0&limit=24`: the assets one edge
 * away, those with failing tests first, then those with the most beyond them. With `of=columns`, `id` is a column and
 * the neighbours are columns.
 */
export interface Neighbours {
  /** All of them; the rest folds into one node with the count. */
  readonly total: number;
  readonly rows: readonly LineageNode[];
}

export interface LineageNode extends AssetLabel {
  /** How many assets are one edge further, each way: the counts of the folds. */
  readonly upstream_count: number;
  readonly downstream_count: number;
  /** The worst status of its latest results; null without results, or without the scope `tests`. */
  readonly status: string | null;
  readonly failing_count: number;
  /** Columns only: the asset they belong to. */
  readonly asset_id: string | null;
}

/** `GET /page/environments/:env_id/node?id=…` (and `of=columns`): the node alone, where a graph begins. */
export type LineageCentre = LineageNode;

/** An answer that a report carries, and the question as it stands in the address. */
export interface RecordedAnswer {
  readonly name: string;
  /** Null for what is not of one environment. */
  readonly env: string | null;
  readonly parameters: Readonly<Record<string, string>>;
  readonly data: unknown;
}
