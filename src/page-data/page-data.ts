import type { Instant } from '../core/time/instant.ts';

/*
 * The requests of the page and their answers. All ids belong to the environment in the path, except in `MirrorTrust`.
 * For a reader restricted to some assets, rows and counts cover only those.
 */

export interface PageAnswers {
  readonly mirror: MirrorTrust;
  readonly failing: FailingNow;
  readonly trends: Trends;
  readonly untested: UntestedTables;
  readonly search: AssetsFound;
  readonly asset: AssetDetail;
  readonly columns: AssetColumns;
  readonly neighbours: Neighbours;
  readonly node: LineageNode;
}

/** `GET /page/mirror`: can I trust this mirror? Lists the environments that the reader may see, by name. */
export interface MirrorTrust {
  /** The mirror's clock, which every run moves. All of an answer is from one such instant. */
  readonly now: Instant;
  /** The reader's restriction: `streams` to environments or scopes, `assets` to assets; null without one. */
  readonly limited_to: 'streams' | 'assets' | null;
  /** The last sync of a stream that the reader sees; null before it, and for a reader restricted to some assets. */
  readonly last_run: RunTrust | null;
  /** The last recorded `verify`; null if there was none, and for a restricted reader. */
  readonly last_verify: VerifyTrust | null;
  /** The account's quota after the last run; null if the source never reported one, and for a restricted reader. */
  readonly quota: QuotaTrust | null;
  readonly environments: readonly EnvironmentTrust[];
}

export interface RunTrust {
  readonly run: number;
  /** As in `sync_runs`; a killed run stays `running`. A restricted reader gets `done` or `problems`, of its streams. */
  readonly status: string;
  readonly started_at: Instant;
  readonly ended_at: Instant | null;
  /** Null for a restricted reader, as is `error`. */
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
  /** When the service stopped listing it; its rows stay in the mirror. */
  readonly missing_since: Instant | null;
  /** Up to when all of these streams except histories are complete in the mirror; null if one never was. */
  readonly complete_at: Instant | null;
  /** Whether the other views show it: not if it is no longer listed, unless a report was made for it. */
  readonly has_views: boolean;
  /** Scopes that the reader's token lacks. The page hides the views that need them. */
  readonly denied_scopes: readonly string[];
  /** Histories whose older rows were pruned, and the time before which they were. */
  readonly pruned: readonly { readonly history: string; readonly before: Instant }[];
  readonly streams: readonly StreamTrust[];
}

export interface StreamTrust {
  readonly stream: string;
  /** Live rows; null for a reader restricted to some assets. */
  readonly rows: number | null;
  /** Until when the stream is complete in the mirror; null if never. The page computes the age by its own clock. */
  readonly complete_at: Instant | null;
  /** Its last read, reason and outcome, as in `sync_stream_runs`; null for a reader restricted to some assets. */
  readonly mode: string | null;
  readonly reason: string | null;
  readonly status: string | null;
  readonly error: string | null;
  /** Also null for a reader restricted to some assets. */
  readonly ended_at: Instant | null;
  /** Removals held back, rejected rows, periods of history never read; null for a reader restricted to assets. */
  readonly held_count: number | null;
  readonly rejected_count: number | null;
  readonly gap_count: number | null;
}

/** `GET /page/environments/:env_id/failing`: what fails now, worst first (`?limit=`: 100, at most 500; `?offset=`). */
export interface FailingNow {
  /** All failing sub-tests that the reader sees. */
  readonly total: number;
  /** Null if one fails. */
  readonly others: OtherSubTests | null;
  readonly rows: readonly FailingSubTest[];
}

/** The sub-tests that the reader sees and that do not fail. A test that never ran counts as one. */
export interface OtherSubTests {
  readonly passed: number;
  /** Skipped, without data, of an unknown status, or without a result. */
  readonly without_verdict: number;
}

/** The assets downstream of an asset, and how many of them are BI assets. */
export interface ReachCount {
  readonly downstream_count: number;
  readonly downstream_bi_count: number;
  /** Whether counting stopped at its limit, so there are more. */
  readonly downstream_cut: boolean;
}

/** Counts what is downstream of the tested asset. */
export interface FailingSubTest extends ReachCount {
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
  /** When the open incident's first run started; if no history is mirrored, when the latest run started. */
  readonly since: Instant | null;
  readonly asset: AssetLabel | null;
  /** The test's owners; the asset's if the test has none. */
  readonly owners: readonly string[];
  /** The probable cause: the nearest ancestor that also has a failing test; null if there is none. */
  readonly cause:
    | (AssetLabel & { readonly depth: number; readonly test_id: string; readonly test_name: string })
    | null;
  /** The last runs of this sub-test, oldest first, at most 30. */
  readonly history: readonly { readonly start_time: Instant; readonly status: string }[];
}

export interface AssetLabel {
  readonly id: string;
  /** Null if the mirror has no live asset with this id. */
  readonly name: string | null;
  readonly kind: string | null;
}

/**
 * `GET /page/environments/:env_id/trends?by=owner|schema|test_type|tag&days=30`: is it getting better? Without `by`
 * there is one group, named null. Returns at most 20 groups, those with the most runs.
 */
export interface Trends {
  /** The UTC days shown, oldest first, without gaps, such as `2026-11-20`. */
  readonly days: readonly string[];
  readonly groups: readonly TrendGroup[];
  /** Mean daily scores of all scored assets: `total` and each dimension. Null on days without scores. */
  readonly health: readonly { readonly dimension: string; readonly scores: readonly (number | null)[] }[];
  /** Whether there are more groups than shown. */
  readonly cut: boolean;
}

/** One value for each of `Trends.days`. */
export interface TrendGroup {
  /** Null for tests without an owner, schema, type or tag, and for the only group without `by`. */
  readonly name: string | null;
  readonly run_count: readonly number[];
  /** 0 to 1; null on days without a verdict. */
  readonly pass_rate: readonly (number | null)[];
  readonly incidents_opened: readonly number[];
  readonly incidents_resolved: readonly number[];
  /** Incidents of enabled tests that are currently open. */
  readonly open_count: number;
  /** Mean hours to resolve the incidents resolved in this period; null if there are none. */
  readonly mean_hours_to_resolve: number | null;
}

/**
 * `GET /page/environments/:env_id/untested`: which untested tables matter? Live tables, most downstream assets first,
 * at most `limit` rows (100, `?limit=`, `?offset=`; `?all=true` includes tested tables).
 */
export interface UntestedTables {
  readonly table_count: number;
  readonly tested_table_count: number;
  readonly column_count: number;
  readonly tested_column_count: number;
  readonly total: number;
  readonly rows: readonly UntestedTable[];
}

export interface UntestedTable extends ReachCount {
  readonly asset: AssetLabel;
  readonly db_name: string | null;
  readonly schema_name: string | null;
  readonly owners: readonly string[];
  readonly test_count: number;
  readonly column_count: number;
  readonly tested_column_count: number;
}

/**
 * `GET /page/environments/:env_id/search?q=…`: live assets whose name, id, qualified name or path contains the text,
 * best match first, at most 50.
 */
export interface AssetsFound {
  readonly rows: readonly (AssetLabel & { readonly path: string | null; readonly platform: string | null })[];
  readonly cut: boolean;
}

/** `GET /page/environments/:env_id/asset?id=…`: one live asset; 404 if there is none or the reader may not see it. */
export interface AssetDetail {
  readonly asset: AssetLabel;
  /** Database, schema and table, joined by dots; null for an asset without any. */
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
  /** The asset's enabled tests, failing ones first, at most 200; null without the scope `tests`. */
  readonly tests: readonly AssetTest[] | null;
  /** Null without the scope `tests`. */
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
    /** Enabled tests of the column; null without the scope `tests`. */
    readonly tests: number | null;
  }[];
}

/**
 * `GET /page/environments/:env_id/neighbours?id=…&direction=upstream|downstream&offset=0&limit=24`: the assets one edge
 * away. Those with failing tests come first, then those with the most neighbours of their own. With `of=columns`, `id`
 * and the neighbours are columns.
 */
export interface Neighbours {
  /** All neighbours. The page folds those that are not in `rows` into one node with their number. */
  readonly total: number;
  readonly rows: readonly LineageNode[];
}

/** `GET /page/environments/:env_id/node?id=…` (and `of=columns`) returns one, where a graph starts. */
export interface LineageNode extends AssetLabel {
  /** The number of neighbours in each direction, shown on folded nodes. */
  readonly upstream_count: number;
  readonly downstream_count: number;
  /** The worst status of its latest results; null without results or without the scope `tests`. */
  readonly status: string | null;
  readonly failing_count: number;
  /** The column's asset; null for an asset. */
  readonly asset_id: string | null;
}

/** An answer stored in a report, with the request it answers. */
export interface RecordedAnswer {
  readonly name: string;
  /** Null if the answer is not about one environment. */
  readonly env: string | null;
  readonly parameters: Readonly<Record<string, string>>;
  readonly data: unknown;
}
