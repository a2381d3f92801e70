CREATE TABLE `asset_lineage` (
	`env_id` text NOT NULL,
	`upstream_asset_id` text NOT NULL,
	`downstream_asset_id` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `upstream_asset_id`, `downstream_asset_id`)
);
--> statement-breakpoint
CREATE INDEX `asset_lineage_by_downstream` ON `asset_lineage` (`env_id`,`downstream_asset_id`);--> statement-breakpoint
CREATE TABLE `asset_lineage_staged` (
	`env_id` text NOT NULL,
	`upstream_asset_id` text NOT NULL,
	`downstream_asset_id` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL,
	PRIMARY KEY(`env_id`, `upstream_asset_id`, `downstream_asset_id`, `read_number`)
);
--> statement-breakpoint
CREATE TABLE `assets` (
	`env_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text,
	`kind` text,
	`source_type` text,
	`data_platform` text,
	`db_name` text,
	`schema_name` text,
	`table_name` text,
	`materialization` text,
	`bi_platform` text,
	`bi_type` text,
	`url` text,
	`description` text,
	`owners` text,
	`tags` text,
	`parent_id` text,
	`path` text,
	`created_at` text,
	`updated_at` text,
	`synced_at` text,
	`deleted_at` text,
	`deletion` text,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `assets_by_kind` ON `assets` (`env_id`,`kind`);--> statement-breakpoint
CREATE INDEX `assets_by_synced_at` ON `assets` (`env_id`,`synced_at`);--> statement-breakpoint
CREATE TABLE `column_lineage` (
	`env_id` text NOT NULL,
	`upstream_column_id` text NOT NULL,
	`downstream_column_id` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `downstream_column_id`, `upstream_column_id`)
);
--> statement-breakpoint
CREATE INDEX `column_lineage_by_upstream` ON `column_lineage` (`env_id`,`upstream_column_id`);--> statement-breakpoint
CREATE TABLE `column_lineage_staged` (
	`env_id` text NOT NULL,
	`upstream_column_id` text NOT NULL,
	`downstream_column_id` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL,
	PRIMARY KEY(`env_id`, `downstream_column_id`, `upstream_column_id`, `read_number`)
);
--> statement-breakpoint
CREATE TABLE `columns` (
	`env_id` text NOT NULL,
	`id` text NOT NULL,
	`asset_id` text,
	`name` text,
	`data_type` text,
	`synced_at` text,
	`deleted_at` text,
	`deletion` text,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `columns_by_asset` ON `columns` (`env_id`,`asset_id`);--> statement-breakpoint
CREATE INDEX `columns_by_synced_at` ON `columns` (`env_id`,`synced_at`);--> statement-breakpoint
CREATE TABLE `environments` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`cron` text,
	`last_sync_status` text,
	`last_synced_at` text,
	`warehouse_type` text,
	`missing_since` text,
	`mirrored_at` text NOT NULL,
	`extra` text
);
--> statement-breakpoint
CREATE TABLE `latest_test_executions` (
	`env_id` text NOT NULL,
	`sub_test_unique_id` text NOT NULL,
	`id` text NOT NULL,
	`test_id` text NOT NULL,
	`sub_type` text NOT NULL,
	`status` text NOT NULL,
	`failure_count` integer,
	`start_time` text NOT NULL,
	`duration_seconds` real NOT NULL,
	`column_name` text,
	`quality_dimension` text,
	`result_reason` text,
	`exception` text,
	`description` text,
	`synced_at` text,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `sub_test_unique_id`)
);
--> statement-breakpoint
CREATE INDEX `latest_test_executions_by_test` ON `latest_test_executions` (`env_id`,`test_id`);--> statement-breakpoint
CREATE TABLE `latest_test_executions_staged` (
	`env_id` text NOT NULL,
	`sub_test_unique_id` text NOT NULL,
	`id` text NOT NULL,
	`test_id` text NOT NULL,
	`sub_type` text NOT NULL,
	`status` text NOT NULL,
	`failure_count` integer,
	`start_time` text NOT NULL,
	`duration_seconds` real NOT NULL,
	`column_name` text,
	`quality_dimension` text,
	`result_reason` text,
	`exception` text,
	`description` text,
	`synced_at` text,
	`mirrored_at` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL,
	PRIMARY KEY(`env_id`, `sub_test_unique_id`, `read_number`)
);
--> statement-breakpoint
CREATE TABLE `test_executions` (
	`env_id` text NOT NULL,
	`sub_test_unique_id` text NOT NULL,
	`id` text NOT NULL,
	`test_id` text NOT NULL,
	`sub_type` text NOT NULL,
	`status` text NOT NULL,
	`failure_count` integer,
	`start_time` text NOT NULL,
	`duration_seconds` real NOT NULL,
	`column_name` text,
	`quality_dimension` text,
	`result_reason` text,
	`exception` text,
	`description` text,
	`synced_at` text,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `sub_test_unique_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `test_executions_by_test` ON `test_executions` (`env_id`,`test_id`,`start_time`);--> statement-breakpoint
CREATE TABLE `tests` (
	`env_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text,
	`test_type` text,
	`definition_type` text,
	`source_type` text,
	`severity` text,
	`disabled` integer,
	`asset_id` text,
	`column_name` text,
	`config` text,
	`owners` text,
	`tags` text,
	`description` text,
	`path` text,
	`project` text,
	`updated_at` text,
	`synced_at` text,
	`deleted_at` text,
	`deletion` text,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `tests_by_asset` ON `tests` (`env_id`,`asset_id`);--> statement-breakpoint
CREATE INDEX `tests_by_synced_at` ON `tests` (`env_id`,`synced_at`);--> statement-breakpoint
CREATE TABLE `asset_health_score_dimensions` (
	`env_id` text NOT NULL,
	`asset_id` text NOT NULL,
	`dimension` text NOT NULL,
	`score` real NOT NULL,
	`test_count` integer NOT NULL,
	`bucket_at` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `asset_id`, `dimension`)
);
--> statement-breakpoint
CREATE TABLE `asset_health_score_dimensions_staged` (
	`env_id` text NOT NULL,
	`asset_id` text NOT NULL,
	`dimension` text NOT NULL,
	`score` real NOT NULL,
	`test_count` integer NOT NULL,
	`bucket_at` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL,
	PRIMARY KEY(`env_id`, `asset_id`, `dimension`, `read_number`)
);
--> statement-breakpoint
CREATE TABLE `asset_health_score_history` (
	`env_id` text NOT NULL,
	`asset_id` text NOT NULL,
	`dimension` text NOT NULL,
	`score` real NOT NULL,
	`test_count` integer NOT NULL,
	`bucket_at` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `asset_id`, `dimension`, `bucket_at`)
);
--> statement-breakpoint
CREATE TABLE `asset_health_scores` (
	`env_id` text NOT NULL,
	`asset_id` text NOT NULL,
	`score` real NOT NULL,
	`test_count` integer NOT NULL,
	`bucket_at` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `asset_id`)
);
--> statement-breakpoint
CREATE TABLE `asset_health_scores_staged` (
	`env_id` text NOT NULL,
	`asset_id` text NOT NULL,
	`score` real NOT NULL,
	`test_count` integer NOT NULL,
	`bucket_at` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL,
	PRIMARY KEY(`env_id`, `asset_id`, `read_number`)
);
--> statement-breakpoint
CREATE TABLE `held_removals` (
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`key_1` text NOT NULL,
	`key_2` text NOT NULL,
	`absent_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `stream`, `key_1`, `key_2`)
);
--> statement-breakpoint
CREATE TABLE `marks` (
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`id` text NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`env_id`, `stream`, `id`)
);
--> statement-breakpoint
CREATE TABLE `mirror` (
	`id` integer PRIMARY KEY NOT NULL,
	`base_url` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`last_mark` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `rejected_rows` (
	`run_id` integer NOT NULL,
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`row_key` text NOT NULL,
	`reason` text NOT NULL,
	`payload` text NOT NULL,
	`seen_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `stream`, `row_key`)
);
--> statement-breakpoint
CREATE TABLE `seen_keys` (
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`key_1` text NOT NULL,
	`key_2` text NOT NULL,
	`read_number` integer NOT NULL,
	PRIMARY KEY(`env_id`, `stream`, `key_1`, `key_2`, `read_number`)
);
--> statement-breakpoint
CREATE TABLE `sync_checkpoints` (
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`watermark` text,
	`scanned_at` text,
	`scan_ended_at` text,
	`scan_ended_pass` integer,
	`scan_due` text,
	`unavailable` integer NOT NULL,
	`finished_pass` integer,
	`round` text,
	PRIMARY KEY(`env_id`, `stream`)
);
--> statement-breakpoint
CREATE TABLE `sync_runs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`pass_id` integer NOT NULL,
	`status` text NOT NULL,
	`server_time` text,
	`started_at` text NOT NULL,
	`ended_at` text,
	`requests` integer DEFAULT 0 NOT NULL,
	`rows_written` integer DEFAULT 0 NOT NULL,
	`rows_deleted` integer DEFAULT 0 NOT NULL,
	`rows_rejected` integer DEFAULT 0 NOT NULL,
	`error` text
);
--> statement-breakpoint
CREATE TABLE `sync_stream_runs` (
	`run_id` integer NOT NULL,
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`mode` text NOT NULL,
	`reason` text NOT NULL,
	`status` text NOT NULL,
	`requests` integer NOT NULL,
	`pages` integer NOT NULL,
	`rows_written` integer NOT NULL,
	`rows_deleted` integer NOT NULL,
	`rows_rejected` integer NOT NULL,
	`rows_late` integer NOT NULL,
	`started_at` text NOT NULL,
	`ended_at` text NOT NULL,
	`error` text,
	PRIMARY KEY(`run_id`, `env_id`, `stream`)
);
--> statement-breakpoint
CREATE INDEX `sync_stream_runs_by_stream` ON `sync_stream_runs` (`env_id`,`stream`,`run_id`);--> statement-breakpoint
CREATE TABLE `test_execution_gaps` (
	`env_id` text NOT NULL,
	`test_id` text NOT NULL,
	`gap_from` text NOT NULL,
	`gap_to` text NOT NULL,
	PRIMARY KEY(`env_id`, `test_id`, `gap_from`)
);
--> statement-breakpoint
CREATE TABLE `test_readings` (
	`env_id` text NOT NULL,
	`test_id` text NOT NULL,
	`read_at` text NOT NULL,
	`mirrored_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `test_id`)
);
