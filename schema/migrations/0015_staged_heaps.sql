DROP TABLE `seen_keys`;--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_asset_lineage_staged` (
	`env_id` text NOT NULL,
	`upstream_asset_id` text NOT NULL,
	`downstream_asset_id` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_asset_lineage_staged`("env_id", "upstream_asset_id", "downstream_asset_id", "extra", "read_number") SELECT "env_id", "upstream_asset_id", "downstream_asset_id", "extra", "read_number" FROM `asset_lineage_staged`;--> statement-breakpoint
DROP TABLE `asset_lineage_staged`;--> statement-breakpoint
ALTER TABLE `__new_asset_lineage_staged` RENAME TO `asset_lineage_staged`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE TABLE `__new_column_lineage_staged` (
	`env_id` text NOT NULL,
	`upstream_column_id` text NOT NULL,
	`downstream_column_id` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_column_lineage_staged`("env_id", "upstream_column_id", "downstream_column_id", "extra", "read_number") SELECT "env_id", "upstream_column_id", "downstream_column_id", "extra", "read_number" FROM `column_lineage_staged`;--> statement-breakpoint
DROP TABLE `column_lineage_staged`;--> statement-breakpoint
ALTER TABLE `__new_column_lineage_staged` RENAME TO `column_lineage_staged`;--> statement-breakpoint
CREATE TABLE `__new_latest_test_executions_staged` (
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
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_latest_test_executions_staged`("env_id", "sub_test_unique_id", "id", "test_id", "sub_type", "status", "failure_count", "start_time", "duration_seconds", "column_name", "quality_dimension", "result_reason", "exception", "description", "synced_at", "extra", "read_number") SELECT "env_id", "sub_test_unique_id", "id", "test_id", "sub_type", "status", "failure_count", "start_time", "duration_seconds", "column_name", "quality_dimension", "result_reason", "exception", "description", "synced_at", "extra", "read_number" FROM `latest_test_executions_staged`;--> statement-breakpoint
DROP TABLE `latest_test_executions_staged`;--> statement-breakpoint
ALTER TABLE `__new_latest_test_executions_staged` RENAME TO `latest_test_executions_staged`;--> statement-breakpoint
CREATE TABLE `__new_asset_health_score_dimensions_staged` (
	`env_id` text NOT NULL,
	`asset_id` text NOT NULL,
	`dimension` text NOT NULL,
	`score` real NOT NULL,
	`test_count` integer NOT NULL,
	`bucket_at` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_asset_health_score_dimensions_staged`("env_id", "asset_id", "dimension", "score", "test_count", "bucket_at", "extra", "read_number") SELECT "env_id", "asset_id", "dimension", "score", "test_count", "bucket_at", "extra", "read_number" FROM `asset_health_score_dimensions_staged`;--> statement-breakpoint
DROP TABLE `asset_health_score_dimensions_staged`;--> statement-breakpoint
ALTER TABLE `__new_asset_health_score_dimensions_staged` RENAME TO `asset_health_score_dimensions_staged`;--> statement-breakpoint
CREATE TABLE `__new_asset_health_scores_staged` (
	`env_id` text NOT NULL,
	`asset_id` text NOT NULL,
	`score` real NOT NULL,
	`test_count` integer NOT NULL,
	`bucket_at` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_asset_health_scores_staged`("env_id", "asset_id", "score", "test_count", "bucket_at", "extra", "read_number") SELECT "env_id", "asset_id", "score", "test_count", "bucket_at", "extra", "read_number" FROM `asset_health_scores_staged`;--> statement-breakpoint
DROP TABLE `asset_health_scores_staged`;--> statement-breakpoint
ALTER TABLE `__new_asset_health_scores_staged` RENAME TO `asset_health_scores_staged`;