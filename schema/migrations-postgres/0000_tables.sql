CREATE TABLE "asset_health_means" (
	"env_id" text collate "C" NOT NULL,
	"day" date NOT NULL,
	"dimension" text collate "C" NOT NULL,
	"score" double precision NOT NULL,
	"asset_count" bigint NOT NULL,
	"scores_at" timestamp with time zone NOT NULL,
	CONSTRAINT "asset_health_means_pkey" PRIMARY KEY("env_id","day","dimension")
);
--> statement-breakpoint
CREATE TABLE "asset_health_score_dimensions" (
	"env_id" text collate "C" NOT NULL,
	"asset_id" text collate "C" NOT NULL,
	"dimension" text collate "C" NOT NULL,
	"score" double precision NOT NULL,
	"test_count" bigint NOT NULL,
	"bucket_at" timestamp with time zone NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "asset_health_score_dimensions_pkey" PRIMARY KEY("env_id","asset_id","dimension")
);
--> statement-breakpoint
CREATE TABLE "asset_health_score_dimensions_staged" (
	"env_id" text collate "C" NOT NULL,
	"asset_id" text collate "C" NOT NULL,
	"dimension" text collate "C" NOT NULL,
	"score" double precision NOT NULL,
	"test_count" bigint NOT NULL,
	"bucket_at" timestamp with time zone NOT NULL,
	"extra" json,
	"read_number" bigint NOT NULL,
	"row_number" bigint GENERATED ALWAYS AS IDENTITY (sequence name "asset_health_score_dimensions_staged_row_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "asset_health_score_history" (
	"env_id" text collate "C" NOT NULL,
	"asset_id" text collate "C" NOT NULL,
	"dimension" text collate "C" NOT NULL,
	"score" double precision NOT NULL,
	"test_count" bigint NOT NULL,
	"bucket_at" timestamp with time zone NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "asset_health_score_history_pkey" PRIMARY KEY("env_id","asset_id","dimension","bucket_at")
);
--> statement-breakpoint
CREATE TABLE "asset_health_scores" (
	"env_id" text collate "C" NOT NULL,
	"asset_id" text collate "C" NOT NULL,
	"score" double precision NOT NULL,
	"test_count" bigint NOT NULL,
	"bucket_at" timestamp with time zone NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "asset_health_scores_pkey" PRIMARY KEY("env_id","asset_id")
);
--> statement-breakpoint
CREATE TABLE "asset_health_scores_staged" (
	"env_id" text collate "C" NOT NULL,
	"asset_id" text collate "C" NOT NULL,
	"score" double precision NOT NULL,
	"test_count" bigint NOT NULL,
	"bucket_at" timestamp with time zone NOT NULL,
	"extra" json,
	"read_number" bigint NOT NULL,
	"row_number" bigint GENERATED ALWAYS AS IDENTITY (sequence name "asset_health_scores_staged_row_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "asset_lineage" (
	"env_id" text collate "C" NOT NULL,
	"upstream_asset_id" text collate "C" NOT NULL,
	"downstream_asset_id" text collate "C" NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "asset_lineage_pkey" PRIMARY KEY("env_id","upstream_asset_id","downstream_asset_id")
);
--> statement-breakpoint
CREATE TABLE "asset_lineage_staged" (
	"env_id" text collate "C" NOT NULL,
	"upstream_asset_id" text collate "C" NOT NULL,
	"downstream_asset_id" text collate "C" NOT NULL,
	"extra" json,
	"read_number" bigint NOT NULL,
	"row_number" bigint GENERATED ALWAYS AS IDENTITY (sequence name "asset_lineage_staged_row_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "assets" (
	"env_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"name" text collate "C",
	"kind" text collate "C",
	"source_type" text collate "C",
	"data_platform" text collate "C",
	"db_name" text collate "C",
	"schema_name" text collate "C",
	"table_name" text collate "C",
	"materialization" text collate "C",
	"bi_platform" text collate "C",
	"bi_type" text collate "C",
	"url" text collate "C",
	"description" text collate "C",
	"owners" json,
	"tags" json,
	"parent_id" text collate "C",
	"path" text collate "C",
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"synced_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"deletion" text collate "C",
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "assets_pkey" PRIMARY KEY("env_id","id")
);
--> statement-breakpoint
CREATE TABLE "column_lineage" (
	"env_id" text collate "C" NOT NULL,
	"upstream_column_id" text collate "C" NOT NULL,
	"downstream_column_id" text collate "C" NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "column_lineage_pkey" PRIMARY KEY("env_id","downstream_column_id","upstream_column_id")
);
--> statement-breakpoint
CREATE TABLE "column_lineage_staged" (
	"env_id" text collate "C" NOT NULL,
	"upstream_column_id" text collate "C" NOT NULL,
	"downstream_column_id" text collate "C" NOT NULL,
	"extra" json,
	"read_number" bigint NOT NULL,
	"row_number" bigint GENERATED ALWAYS AS IDENTITY (sequence name "column_lineage_staged_row_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "columns" (
	"env_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"asset_id" text collate "C",
	"name" text collate "C",
	"data_type" text collate "C",
	"synced_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"deletion" text collate "C",
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "columns_pkey" PRIMARY KEY("env_id","id")
);
--> statement-breakpoint
CREATE TABLE "environments" (
	"id" text collate "C" NOT NULL,
	"name" text collate "C" NOT NULL,
	"cron" text collate "C",
	"last_sync_status" text collate "C",
	"last_synced_at" timestamp with time zone,
	"warehouse_type" text collate "C",
	"missing_since" timestamp with time zone,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "environments_pkey" PRIMARY KEY("id")
);
--> statement-breakpoint
CREATE TABLE "held_removals" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"key_1" text collate "C" NOT NULL,
	"key_2" text collate "C" NOT NULL,
	"absent_at" timestamp with time zone NOT NULL,
	CONSTRAINT "held_removals_pkey" PRIMARY KEY("env_id","stream","key_1","key_2")
);
--> statement-breakpoint
CREATE TABLE "history_failures" (
	"env_id" text collate "C" NOT NULL,
	"test_id" text collate "C" NOT NULL,
	"run_id" bigint,
	"page_limit" bigint,
	CONSTRAINT "history_failures_pkey" PRIMARY KEY("env_id","test_id")
);
--> statement-breakpoint
CREATE TABLE "latest_test_executions" (
	"env_id" text collate "C" NOT NULL,
	"sub_test_unique_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"test_id" text collate "C" NOT NULL,
	"sub_type" text collate "C" NOT NULL,
	"status" text collate "C" NOT NULL,
	"failure_count" bigint,
	"start_time" timestamp with time zone NOT NULL,
	"duration_seconds" double precision NOT NULL,
	"column_name" text collate "C",
	"quality_dimension" text collate "C",
	"result_reason" text collate "C",
	"exception" text collate "C",
	"description" text collate "C",
	"synced_at" timestamp with time zone,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "latest_test_executions_pkey" PRIMARY KEY("env_id","sub_test_unique_id")
);
--> statement-breakpoint
CREATE TABLE "latest_test_executions_staged" (
	"env_id" text collate "C" NOT NULL,
	"sub_test_unique_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"test_id" text collate "C" NOT NULL,
	"sub_type" text collate "C" NOT NULL,
	"status" text collate "C" NOT NULL,
	"failure_count" bigint,
	"start_time" timestamp with time zone NOT NULL,
	"duration_seconds" double precision NOT NULL,
	"column_name" text collate "C",
	"quality_dimension" text collate "C",
	"result_reason" text collate "C",
	"exception" text collate "C",
	"description" text collate "C",
	"synced_at" timestamp with time zone,
	"extra" json,
	"read_number" bigint NOT NULL,
	"row_number" bigint GENERATED ALWAYS AS IDENTITY (sequence name "latest_test_executions_staged_row_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "lease_owners" (
	"owner" text collate "C" NOT NULL,
	"until_ms" bigint NOT NULL,
	"backend" text collate "C",
	CONSTRAINT "lease_owners_pkey" PRIMARY KEY("owner")
);
--> statement-breakpoint
CREATE TABLE "list_lengths" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"variant" text collate "C" NOT NULL,
	"page_size" bigint NOT NULL,
	"pages" bigint NOT NULL,
	"rows" bigint NOT NULL,
	CONSTRAINT "list_lengths_pkey" PRIMARY KEY("env_id","stream","variant")
);
--> statement-breakpoint
CREATE TABLE "marks" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"number" bigint NOT NULL,
	"left_by_run" bigint,
	CONSTRAINT "marks_pkey" PRIMARY KEY("env_id","stream","id")
);
--> statement-breakpoint
CREATE TABLE "mirror" (
	"id" bigint GENERATED BY DEFAULT AS IDENTITY (sequence name "mirror_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"base_url" text collate "C" NOT NULL,
	"cursor_key" text collate "C",
	"quota_limit" bigint,
	"quota_window_seconds" bigint,
	"quota_remaining" bigint,
	"quota_reset_seconds" bigint,
	"quota_noted_at" timestamp with time zone,
	CONSTRAINT "mirror_pkey" PRIMARY KEY("id")
);
--> statement-breakpoint
CREATE TABLE "mirror_environments" (
	"env_id" text collate "C" NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	"last_mark" bigint DEFAULT 0 NOT NULL,
	"rows_removed_at" timestamp with time zone,
	"returned_count" bigint DEFAULT 0 NOT NULL,
	"lease_owner" text collate "C",
	"lease_epoch" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "mirror_environments_pkey" PRIMARY KEY("env_id")
);
--> statement-breakpoint
CREATE TABLE "missing_found" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	CONSTRAINT "missing_found_pkey" PRIMARY KEY("env_id","stream")
);
--> statement-breakpoint
CREATE TABLE "missing_keys" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"key_1" text collate "C" NOT NULL,
	"key_2" text collate "C" NOT NULL,
	CONSTRAINT "missing_keys_pkey" PRIMARY KEY("env_id","stream","key_1","key_2")
);
--> statement-breakpoint
CREATE TABLE "rejected_rows" (
	"run_id" bigint NOT NULL,
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"row_key" text collate "C" NOT NULL,
	"reason" text collate "C" NOT NULL,
	"payload" text collate "C" NOT NULL,
	"seen_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "seen_keys" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"key_1" text collate "C" NOT NULL,
	"key_2" text collate "C" NOT NULL,
	"read_number" bigint NOT NULL,
	CONSTRAINT "seen_keys_pkey" PRIMARY KEY("env_id","stream","key_1","key_2","read_number")
);
--> statement-breakpoint
CREATE TABLE "seen_pages" (
	"id" bigint GENERATED BY DEFAULT AS IDENTITY (sequence name "seen_pages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"read_number" bigint NOT NULL,
	"keys" text collate "C" NOT NULL,
	CONSTRAINT "seen_pages_pkey" PRIMARY KEY("env_id","id")
);
--> statement-breakpoint
CREATE TABLE "seen_through" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"page" bigint NOT NULL,
	CONSTRAINT "seen_through_pkey" PRIMARY KEY("env_id","stream")
);
--> statement-breakpoint
CREATE TABLE "staged_keys" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"key_1" text collate "C" NOT NULL,
	"key_2" text collate "C" NOT NULL,
	CONSTRAINT "staged_keys_pkey" PRIMARY KEY("env_id","stream","key_1","key_2")
);
--> statement-breakpoint
CREATE TABLE "staged_loaded" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	CONSTRAINT "staged_loaded_pkey" PRIMARY KEY("env_id","stream")
);
--> statement-breakpoint
CREATE TABLE "stale_health_days" (
	"env_id" text collate "C" NOT NULL,
	"day" date NOT NULL,
	CONSTRAINT "stale_health_days_pkey" PRIMARY KEY("env_id","day")
);
--> statement-breakpoint
CREATE TABLE "sync_checkpoints" (
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"watermark" timestamp with time zone,
	"scanned_at" timestamp with time zone,
	"scan_ended_at" timestamp with time zone,
	"scan_ended_cycle" bigint,
	"scan_pages" bigint DEFAULT 0 NOT NULL,
	"scan_due" text collate "C",
	"unavailable" boolean NOT NULL,
	"finished_cycle" bigint,
	"round" json,
	"page_limit" bigint,
	"page_limit_at" timestamp with time zone,
	"waiting_scan" json,
	"returned_count" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "sync_checkpoints_pkey" PRIMARY KEY("env_id","stream")
);
--> statement-breakpoint
CREATE TABLE "sync_runs" (
	"id" bigint GENERATED BY DEFAULT AS IDENTITY (sequence name "sync_runs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"cycle_id" bigint NOT NULL,
	"command" text collate "C" DEFAULT 'sync' NOT NULL,
	"status" text collate "C" NOT NULL,
	"server_time" timestamp with time zone,
	"started_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"requests" bigint DEFAULT 0 NOT NULL,
	"rows_written" bigint DEFAULT 0 NOT NULL,
	"rows_deleted" bigint DEFAULT 0 NOT NULL,
	"rows_rejected" bigint DEFAULT 0 NOT NULL,
	"error" text collate "C",
	"full" boolean DEFAULT false NOT NULL,
	"full_every" text collate "C",
	"left_over" text collate "C",
	"nonce" text collate "C" DEFAULT '' NOT NULL,
	CONSTRAINT "sync_runs_pkey" PRIMARY KEY("id")
);
--> statement-breakpoint
CREATE TABLE "sync_stream_runs" (
	"run_id" bigint NOT NULL,
	"env_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"mode" text collate "C" NOT NULL,
	"reason" text collate "C" NOT NULL,
	"status" text collate "C" NOT NULL,
	"requests" bigint NOT NULL,
	"pages" bigint NOT NULL,
	"rows_written" bigint NOT NULL,
	"rows_deleted" bigint NOT NULL,
	"rows_rejected" bigint NOT NULL,
	"rows_late" bigint NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone NOT NULL,
	"error" text collate "C",
	CONSTRAINT "sync_stream_runs_pkey" PRIMARY KEY("run_id","env_id","stream")
);
--> statement-breakpoint
CREATE TABLE "test_execution_gaps" (
	"env_id" text collate "C" NOT NULL,
	"test_id" text collate "C" NOT NULL,
	"gap_from" timestamp with time zone NOT NULL,
	"gap_to" timestamp with time zone NOT NULL,
	CONSTRAINT "test_execution_gaps_pkey" PRIMARY KEY("env_id","test_id","gap_from")
);
--> statement-breakpoint
CREATE TABLE "test_executions" (
	"env_id" text collate "C" NOT NULL,
	"sub_test_unique_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"test_id" text collate "C" NOT NULL,
	"sub_type" text collate "C" NOT NULL,
	"status" text collate "C" NOT NULL,
	"failure_count" bigint,
	"start_time" timestamp with time zone NOT NULL,
	"duration_seconds" double precision NOT NULL,
	"column_name" text collate "C",
	"quality_dimension" text collate "C",
	"result_reason" text collate "C",
	"exception" text collate "C",
	"description" text collate "C",
	"synced_at" timestamp with time zone,
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "test_executions_pkey" PRIMARY KEY("env_id","sub_test_unique_id","id")
);
--> statement-breakpoint
CREATE TABLE "test_readings" (
	"env_id" text collate "C" NOT NULL,
	"test_id" text collate "C" NOT NULL,
	"read_at" timestamp with time zone NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	CONSTRAINT "test_readings_pkey" PRIMARY KEY("env_id","test_id")
);
--> statement-breakpoint
CREATE TABLE "tests" (
	"env_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"name" text collate "C",
	"test_type" text collate "C",
	"definition_type" text collate "C",
	"source_type" text collate "C",
	"severity" text collate "C",
	"disabled" boolean,
	"asset_id" text collate "C",
	"column_name" text collate "C",
	"config" json,
	"owners" json,
	"tags" json,
	"description" text collate "C",
	"path" text collate "C",
	"project" text collate "C",
	"updated_at" timestamp with time zone,
	"synced_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"deletion" text collate "C",
	"mirrored_at" timestamp with time zone NOT NULL,
	"extra" json,
	CONSTRAINT "tests_pkey" PRIMARY KEY("env_id","id")
);
--> statement-breakpoint
CREATE TABLE "verifications" (
	"id" bigint GENERATED BY DEFAULT AS IDENTITY (sequence name "verifications_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"ended_at" timestamp with time zone NOT NULL,
	"depth" text collate "C" NOT NULL,
	"equal" boolean NOT NULL,
	"difference_count" bigint NOT NULL,
	CONSTRAINT "verifications_pkey" PRIMARY KEY("id")
);
--> statement-breakpoint
CREATE INDEX "asset_health_score_dimensions_staged_by_env" ON "asset_health_score_dimensions_staged" USING btree ("env_id");--> statement-breakpoint
CREATE INDEX "asset_health_scores_staged_by_env" ON "asset_health_scores_staged" USING btree ("env_id");--> statement-breakpoint
CREATE INDEX "asset_health_score_history_newest" ON "asset_health_score_history" USING brin ("mirrored_at") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "test_executions_newest" ON "test_executions" USING brin ("mirrored_at") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "asset_lineage_by_downstream" ON "asset_lineage" USING btree ("env_id","downstream_asset_id","upstream_asset_id");--> statement-breakpoint
CREATE INDEX "asset_lineage_newest" ON "asset_lineage" USING brin ("mirrored_at") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "asset_lineage_staged_by_env" ON "asset_lineage_staged" USING btree ("env_id");--> statement-breakpoint
CREATE INDEX "assets_live" ON "assets" USING btree ("env_id","mirrored_at","id") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "assets_gone" ON "assets" USING btree ("env_id","mirrored_at","id") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX "assets_by_kind" ON "assets" USING btree ("env_id","kind","id");--> statement-breakpoint
CREATE INDEX "assets_live_by_kind" ON "assets" USING btree ("env_id","kind","mirrored_at","id") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "column_lineage_by_upstream" ON "column_lineage" USING btree ("env_id","upstream_column_id");--> statement-breakpoint
CREATE INDEX "column_lineage_newest" ON "column_lineage" USING brin ("mirrored_at") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "column_lineage_staged_by_env" ON "column_lineage_staged" USING btree ("env_id");--> statement-breakpoint
CREATE INDEX "columns_live" ON "columns" USING btree ("env_id","mirrored_at","id") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "columns_gone" ON "columns" USING btree ("env_id","mirrored_at","id") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX "columns_by_asset" ON "columns" USING btree ("env_id","asset_id");--> statement-breakpoint
CREATE INDEX "latest_test_executions_by_test" ON "latest_test_executions" USING btree ("env_id","test_id");--> statement-breakpoint
CREATE INDEX "latest_test_executions_by_synced_at" ON "latest_test_executions" USING btree ("env_id","synced_at","sub_test_unique_id");--> statement-breakpoint
CREATE INDEX "latest_test_executions_staged_by_env" ON "latest_test_executions_staged" USING btree ("env_id");--> statement-breakpoint
CREATE UNIQUE INDEX "rejected_rows_by_key" ON "rejected_rows" USING btree ("env_id","stream",md5("row_key"));--> statement-breakpoint
CREATE INDEX "seen_pages_by_stream" ON "seen_pages" USING btree ("env_id","stream");--> statement-breakpoint
CREATE INDEX "sync_runs_done" ON "sync_runs" USING btree ("ended_at") WHERE status = 'done' and command = 'sync';--> statement-breakpoint
CREATE INDEX "sync_runs_timed" ON "sync_runs" USING btree ("id") WHERE server_time is not null;--> statement-breakpoint
CREATE INDEX "sync_stream_runs_by_stream" ON "sync_stream_runs" USING btree ("env_id","stream","run_id");--> statement-breakpoint
CREATE INDEX "test_executions_by_test" ON "test_executions" USING btree ("env_id","test_id","start_time","status");--> statement-breakpoint
CREATE INDEX "test_executions_failing" ON "test_executions" USING btree ("env_id","test_id","sub_test_unique_id","start_time","id","status") WHERE status IN ('WARN', 'FAIL', 'ERROR');--> statement-breakpoint
CREATE INDEX "tests_live" ON "tests" USING btree ("env_id","mirrored_at","id") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "tests_gone" ON "tests" USING btree ("env_id","mirrored_at","id") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX "tests_by_asset" ON "tests" USING btree ("env_id","asset_id");--> statement-breakpoint
CREATE INDEX "tests_disabled" ON "tests" USING btree ("env_id","id") WHERE disabled;--> statement-breakpoint
-- SQLite keeps these in temporary tables. A crash of the server may empty them: they are made again from the others.
ALTER TABLE "seen_keys" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "seen_through" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "missing_keys" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "missing_found" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "staged_keys" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "staged_loaded" SET UNLOGGED;
--> statement-breakpoint
-- Whether two JSON texts have the same value, as `sameJson` of `src/core/json.ts` says. The type jsonb compares values, but it rounds no
-- number as JavaScript does, and takes neither U+0000 nor half a surrogate pair: both are put in another form first.
CREATE FUNCTION comparable_number(given text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN length(given) < 16 OR (given LIKE '%.%' AND given ~ '^-?([0-9]\.[0-9]{1,17}|[0-9.]{1,18})$')
      THEN given::double precision::text
    WHEN abs(given::numeric) < 1e308 AND given::numeric = given::double precision::text::numeric
      THEN given::double precision::text
    ELSE '"' || chr(65535) || given || '"'
  END
$$;
--> statement-breakpoint
CREATE FUNCTION comparable_json(given text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(
    CASE
      WHEN token[1] IS NOT NULL
        THEN regexp_replace(token[1], '(?<!\\)((?:\\\\)*)\\u(0000|d[89a-f][0-9a-f]{2})', '\1\\uffff\\\\u\2', 'g')
      WHEN token[2] IS NOT NULL THEN comparable_number(token[2])
      ELSE token[3]
    END, '' ORDER BY at)::jsonb
  FROM regexp_matches(given, '("(?:[^"\\]|\\.)*")|(-?[0-9][0-9.eE+-]*)|([^"0-9-]+)', 'g') WITH ORDINALITY AS found (token, at)
$$;
--> statement-breakpoint
CREATE FUNCTION same_json(one text, other text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN one = other OR comparable_json(one) = comparable_json(other);
EXCEPTION WHEN OTHERS THEN
  RETURN false;
END
$$;--> statement-breakpoint
CREATE TABLE "pruned_history" (
	"env_id" text collate "C" NOT NULL,
	"history" text collate "C" NOT NULL,
	"action" text collate "C" NOT NULL,
	"complete_before" timestamp with time zone,
	"pruning_before" timestamp with time zone,
	"pruned_through" text collate "C" NOT NULL,
	"row_count" bigint NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	CONSTRAINT "pruned_history_pkey" PRIMARY KEY("env_id","history","action")
);--> statement-breakpoint
CREATE TABLE "alert_deliveries" (
	"env_id" text collate "C" NOT NULL,
	"alert_id" text collate "C" NOT NULL,
	"number" bigint NOT NULL,
	"channel" text collate "C" NOT NULL,
	"message" json NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"attempts" bigint DEFAULT 0 NOT NULL,
	"refusals" bigint DEFAULT 0 NOT NULL,
	"delivered_at" timestamp with time zone,
	"error" text collate "C",
	CONSTRAINT "alert_deliveries_pkey" PRIMARY KEY("env_id","alert_id","number","channel")
);
--> statement-breakpoint
CREATE TABLE "alert_rules" (
	"env_id" text collate "C" NOT NULL,
	"rule" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"applied_at" timestamp with time zone NOT NULL,
	CONSTRAINT "alert_rules_pkey" PRIMARY KEY("env_id","rule","kind")
);
--> statement-breakpoint
CREATE TABLE "alerts" (
	"env_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"rule" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"subject" text collate "C" NOT NULL,
	"members" json NOT NULL,
	"begun_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"silent" boolean NOT NULL,
	"notified_at" timestamp with time zone,
	"messages" bigint NOT NULL,
	"snoozed_until" timestamp with time zone,
	"channels" json NOT NULL,
	"message" json,
	CONSTRAINT "alerts_pkey" PRIMARY KEY("env_id","id")
);
--> statement-breakpoint
CREATE INDEX "alert_deliveries_waiting" ON "alert_deliveries" USING btree ("env_id","created_at") WHERE delivered_at is null;--> statement-breakpoint
CREATE INDEX "alerts_by_end" ON "alerts" USING btree ("env_id","ended_at");
