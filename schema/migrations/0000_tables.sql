CREATE TABLE `asset_lineage` (
	`env_id` text NOT NULL,
	`upstream_asset_id` text NOT NULL,
	`downstream_asset_id` text NOT NULL,
	`mirrored_at` text NOT NULL,
	`extra` text,
	PRIMARY KEY(`env_id`, `upstream_asset_id`, `downstream_asset_id`)
);
--> statement-breakpoint
CREATE INDEX `asset_lineage_by_downstream` ON `asset_lineage` (`env_id`,`downstream_asset_id`,`upstream_asset_id`);--> statement-breakpoint
CREATE TABLE `asset_lineage_staged` (
	`env_id` text NOT NULL,
	`upstream_asset_id` text NOT NULL,
	`downstream_asset_id` text NOT NULL,
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `asset_lineage_staged_by_env` ON `asset_lineage_staged` (`env_id`);--> statement-breakpoint
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
CREATE INDEX `assets_live` ON `assets` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `assets_gone` ON `assets` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX `assets_by_kind` ON `assets` (`env_id`,`kind`,`id`);--> statement-breakpoint
CREATE INDEX `assets_live_by_kind` ON `assets` (`env_id`,`kind`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
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
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `column_lineage_staged_by_env` ON `column_lineage_staged` (`env_id`);--> statement-breakpoint
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
CREATE INDEX `columns_live` ON `columns` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `columns_gone` ON `columns` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX `columns_by_asset` ON `columns` (`env_id`,`asset_id`);--> statement-breakpoint
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
CREATE INDEX `latest_test_executions_by_synced_at` ON `latest_test_executions` (`env_id`,`synced_at`,`sub_test_unique_id`);--> statement-breakpoint
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
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `latest_test_executions_staged_by_env` ON `latest_test_executions_staged` (`env_id`);--> statement-breakpoint
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
CREATE INDEX `test_executions_by_test` ON `test_executions` (`env_id`,`test_id`,`start_time`,`status`);--> statement-breakpoint
CREATE INDEX `test_executions_failing` ON `test_executions` (`env_id`,`test_id`,`sub_test_unique_id`,`start_time`,`id`,`status`) WHERE status IN ('WARN', 'FAIL', 'ERROR');--> statement-breakpoint
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
CREATE INDEX `tests_live` ON `tests` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `tests_gone` ON `tests` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX `tests_by_asset` ON `tests` (`env_id`,`asset_id`);--> statement-breakpoint
CREATE INDEX `tests_disabled` ON `tests` (`env_id`,`id`) WHERE disabled = 1;--> statement-breakpoint
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
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `asset_health_score_dimensions_staged_by_env` ON `asset_health_score_dimensions_staged` (`env_id`);--> statement-breakpoint
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
	`extra` text,
	`read_number` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `asset_health_scores_staged_by_env` ON `asset_health_scores_staged` (`env_id`);--> statement-breakpoint
CREATE TABLE `asset_health_means` (
	`env_id` text NOT NULL,
	`day` text NOT NULL,
	`dimension` text NOT NULL,
	`score` real NOT NULL,
	`asset_count` integer NOT NULL,
	`scores_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `day`, `dimension`)
);
--> statement-breakpoint
CREATE TABLE `stale_health_days` (
	`env_id` text NOT NULL,
	`day` text NOT NULL,
	PRIMARY KEY(`env_id`, `day`)
);
--> statement-breakpoint
CREATE TABLE `verifications` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`ended_at` text NOT NULL,
	`depth` text NOT NULL,
	`equal` integer NOT NULL,
	`difference_count` integer NOT NULL
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
CREATE TABLE `history_failures` (
	`env_id` text NOT NULL,
	`test_id` text NOT NULL,
	`run_id` integer,
	`page_limit` integer,
	PRIMARY KEY(`env_id`, `test_id`)
);
--> statement-breakpoint
CREATE TABLE `list_lengths` (
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`variant` text NOT NULL,
	`page_size` integer NOT NULL,
	`pages` integer NOT NULL,
	`rows` integer NOT NULL,
	PRIMARY KEY(`env_id`, `stream`, `variant`)
);
--> statement-breakpoint
CREATE TABLE `marks` (
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`id` text NOT NULL,
	`number` integer NOT NULL,
	`left_by_run` integer,
	PRIMARY KEY(`env_id`, `stream`, `id`)
);
--> statement-breakpoint
CREATE TABLE `mirror` (
	`id` integer PRIMARY KEY NOT NULL,
	`base_url` text NOT NULL,
	`cursor_key` text,
	`quota_limit` integer,
	`quota_window_seconds` integer,
	`quota_remaining` integer,
	`quota_reset_seconds` integer,
	`quota_noted_at` text
);
--> statement-breakpoint
CREATE TABLE `mirror_environments` (
	`env_id` text PRIMARY KEY NOT NULL,
	`mirrored_at` text NOT NULL,
	`last_mark` integer DEFAULT 0 NOT NULL,
	`rows_removed_at` text,
	`returned_count` integer DEFAULT 0 NOT NULL
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
CREATE TABLE `seen_pages` (
	`id` integer PRIMARY KEY NOT NULL,
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`read_number` integer NOT NULL,
	`keys` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `seen_pages_by_stream` ON `seen_pages` (`env_id`,`stream`);--> statement-breakpoint
CREATE TABLE `sync_checkpoints` (
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`watermark` text,
	`scanned_at` text,
	`scan_ended_at` text,
	`scan_ended_cycle` integer,
	`scan_pages` integer DEFAULT 0 NOT NULL,
	`scan_due` text,
	`unavailable` integer NOT NULL,
	`finished_cycle` integer,
	`round` text,
	`page_limit` integer,
	`page_limit_at` text,
	`waiting_scan` text,
	`returned_count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`env_id`, `stream`)
);
--> statement-breakpoint
CREATE TABLE `sync_runs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`cycle_id` integer NOT NULL,
	`command` text DEFAULT 'sync' NOT NULL,
	`status` text NOT NULL,
	`server_time` text,
	`started_at` text NOT NULL,
	`ended_at` text,
	`requests` integer DEFAULT 0 NOT NULL,
	`rows_written` integer DEFAULT 0 NOT NULL,
	`rows_deleted` integer DEFAULT 0 NOT NULL,
	`rows_rejected` integer DEFAULT 0 NOT NULL,
	`error` text,
	`full` integer DEFAULT 0 NOT NULL,
	`full_every` text,
	`left_over` text,
	`nonce` text DEFAULT '' NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sync_runs_done` ON `sync_runs` (`ended_at`) WHERE status = 'done' and command = 'sync';--> statement-breakpoint
CREATE INDEX `sync_runs_timed` ON `sync_runs` (`id`) WHERE server_time is not null;--> statement-breakpoint
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
--> statement-breakpoint
CREATE VIEW `environment_freshness` AS SELECT c.env_id, v.name AS env_name, c.complete_at
FROM (
  SELECT env_id, CAST(CASE WHEN count(watermark) = count(*) THEN min(watermark) END AS TEXT) AS complete_at FROM sync_checkpoints
  WHERE stream <> 'test_executions' AND (watermark IS NOT NULL OR NOT unavailable)
  GROUP BY env_id
) c LEFT JOIN environments v ON v.id = c.env_id
WHERE v.missing_since IS NULL;--> statement-breakpoint
CREATE VIEW `test_incidents_by_owner` AS SELECT i.env_id, i.env_name, o.owner, CAST(count(*) AS INTEGER) AS incident_count,
  CAST(sum(i.resolved_at IS NULL) AS INTEGER) AS open_count,
  CAST(count(i.resolved_at) AS INTEGER) AS resolved_count,
  CAST(avg(i.hours_to_resolve) AS REAL) AS mean_hours_to_resolve
FROM test_incidents i LEFT JOIN (SELECT DISTINCT t.env_id, t.id AS test_id, CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS owner
    FROM tests t LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id JOIN json_each(CASE WHEN json_valid(COALESCE(NULLIF(t.owners, '[]'), a.owners)) THEN CASE json_type(COALESCE(NULLIF(t.owners, '[]'), a.owners)) WHEN 'array' THEN COALESCE(NULLIF(t.owners, '[]'), a.owners) END END) e
    WHERE CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL) o ON o.env_id = i.env_id AND o.test_id = i.test_id
GROUP BY i.env_id, o.owner;--> statement-breakpoint
CREATE VIEW `test_runs_daily` AS SELECT d.env_id, v.name AS env_name, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x 
    GROUP BY x.env_id, day, x.status
  )
  GROUP BY env_id, day
) d LEFT JOIN environments v ON v.id = d.env_id
LEFT JOIN pruned_history p ON p.env_id = d.env_id AND p.history = 'test_executions' AND p.action = 'delete'
WHERE COALESCE(d.day >= CAST(substr(COALESCE(p.pruning_before, p.complete_before), 1, 10) AS TEXT), true);--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_owner` AS SELECT d.env_id, v.name AS env_name, d.owner, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, owner, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, o.owner AS owner, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN (SELECT DISTINCT t.env_id, t.id AS test_id, CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS owner
    FROM tests t LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id JOIN json_each(CASE WHEN json_valid(COALESCE(NULLIF(t.owners, '[]'), a.owners)) THEN CASE json_type(COALESCE(NULLIF(t.owners, '[]'), a.owners)) WHEN 'array' THEN COALESCE(NULLIF(t.owners, '[]'), a.owners) END END) e
    WHERE CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL) o ON o.env_id = x.env_id AND o.test_id = x.test_id
    GROUP BY x.env_id, owner, day, x.status
  )
  GROUP BY env_id, owner, day
) d LEFT JOIN environments v ON v.id = d.env_id
LEFT JOIN pruned_history p ON p.env_id = d.env_id AND p.history = 'test_executions' AND p.action = 'delete'
WHERE COALESCE(d.day >= CAST(substr(COALESCE(p.pruning_before, p.complete_before), 1, 10) AS TEXT), true);--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_schema` AS SELECT d.env_id, v.name AS env_name, d.db_name, d.schema_name, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, db_name, schema_name, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, a.db_name AS db_name, a.schema_name AS schema_name, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN tests t ON t.env_id = x.env_id AND t.id = x.test_id LEFT JOIN assets a ON a.env_id = x.env_id AND a.id = t.asset_id
    GROUP BY x.env_id, db_name, schema_name, day, x.status
  )
  GROUP BY env_id, db_name, schema_name, day
) d LEFT JOIN environments v ON v.id = d.env_id
LEFT JOIN pruned_history p ON p.env_id = d.env_id AND p.history = 'test_executions' AND p.action = 'delete'
WHERE COALESCE(d.day >= CAST(substr(COALESCE(p.pruning_before, p.complete_before), 1, 10) AS TEXT), true);--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_tag` AS SELECT d.env_id, v.name AS env_name, d.tag, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, tag, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, g.tag AS tag, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN (SELECT DISTINCT t.env_id, t.id AS test_id, CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS tag FROM tests t JOIN json_each(CASE WHEN json_valid(t.tags) THEN CASE json_type(t.tags) WHEN 'array' THEN t.tags END END) e
    WHERE CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL) g ON g.env_id = x.env_id AND g.test_id = x.test_id
    GROUP BY x.env_id, tag, day, x.status
  )
  GROUP BY env_id, tag, day
) d LEFT JOIN environments v ON v.id = d.env_id
LEFT JOIN pruned_history p ON p.env_id = d.env_id AND p.history = 'test_executions' AND p.action = 'delete'
WHERE COALESCE(d.day >= CAST(substr(COALESCE(p.pruning_before, p.complete_before), 1, 10) AS TEXT), true);--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_test_type` AS SELECT d.env_id, v.name AS env_name, d.test_type, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, test_type, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, t.test_type AS test_type, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN tests t ON t.env_id = x.env_id AND t.id = x.test_id
    GROUP BY x.env_id, test_type, day, x.status
  )
  GROUP BY env_id, test_type, day
) d LEFT JOIN environments v ON v.id = d.env_id
LEFT JOIN pruned_history p ON p.env_id = d.env_id AND p.history = 'test_executions' AND p.action = 'delete'
WHERE COALESCE(d.day >= CAST(substr(COALESCE(p.pruning_before, p.complete_before), 1, 10) AS TEXT), true);--> statement-breakpoint
CREATE VIEW `failing_tests` AS SELECT * FROM test_status WHERE status IN ('WARN', 'FAIL', 'ERROR');--> statement-breakpoint
CREATE VIEW `live_tests` AS SELECT t.env_id, v.name AS env_name, t.id, t.name, t.test_type, t.definition_type, t.source_type, t.severity,
  t.disabled, t.asset_id, a.name AS asset_name, t.column_name, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(t.owners) THEN CASE json_type(t.owners) WHEN 'array' THEN t.owners END END) e) AS TEXT) AS owners,
  CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(t.tags) THEN CASE json_type(t.tags) WHEN 'array' THEN t.tags END END) e) AS TEXT) AS tags, t.description, t.path, t.project, t.updated_at, t.synced_at, t.mirrored_at
FROM tests t LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
WHERE t.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `test_coverage` AS SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, a.db_name, a.schema_name,
  a.table_name,
  CAST((SELECT count(*) FROM tests t
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND COALESCE(t.disabled, 0) = 0) AS INTEGER) AS test_count,
  CAST((SELECT count(*) FROM columns c
    WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL) AS INTEGER) AS column_count,
  CAST((SELECT COALESCE(sum(n), 0) FROM (SELECT sum(u.n) AS n FROM (
      SELECT lower(c.name) AS name, 1 AS n, 0 AS tested FROM columns c
      WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL
      UNION ALL SELECT lower(s.column_name), 0, 1 FROM test_status s WHERE s.env_id = a.env_id AND s.asset_id = a.id
    ) u GROUP BY u.name HAVING max(u.tested) = 1) x) AS INTEGER) AS tested_column_count
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL AND a.kind = 'table';--> statement-breakpoint
CREATE VIEW `test_incidents` AS SELECT t.env_id, v.name AS env_name, t.test_id, t.name AS test_name, t.disabled AS test_disabled, t.asset_id,
  a.name AS asset_name, l.sub_test_unique_id, l.column_name, CAST(json_extract(i.value, '$[2]') AS TEXT) AS first_start_time,
  l.start_time AS last_start_time, CAST(json_extract(i.value, '$[3]') AS INTEGER) AS run_count,
  CAST(json_extract(i.value, '$[4]') AS TEXT) AS worst_status, l.status AS last_status, p.start_time AS resolved_at,
  CAST(round((julianday(COALESCE(p.start_time, l.start_time)) - julianday(json_extract(i.value, '$[2]'))) * 86400, 3) AS REAL) AS duration_seconds,
  CAST(round((julianday(COALESCE(p.start_time, l.start_time)) - julianday(json_extract(i.value, '$[2]'))) * 24, 3) AS REAL) AS duration_hours,
  CAST(CASE WHEN p.start_time IS NOT NULL THEN round((julianday(COALESCE(p.start_time, l.start_time)) - julianday(json_extract(i.value, '$[2]'))) * 24, 3) END AS REAL) AS hours_to_resolve,
  CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(t.owners) THEN CASE json_type(t.owners) WHEN 'array' THEN t.owners END END) e) AS TEXT) AS test_owners, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS asset_owners
FROM (
  SELECT env_id, id AS test_id, name, disabled, asset_id, owners FROM tests WHERE deleted_at IS NULL
  UNION ALL
  SELECT r.env_id, r.test_id, NULL, NULL, NULL, NULL
  FROM (SELECT DISTINCT env_id, test_id FROM test_executions
    WHERE test_id >= '' AND sub_test_unique_id >= '' AND status IN ('WARN', 'FAIL', 'ERROR')) r
  WHERE NOT EXISTS (SELECT 1 FROM tests n WHERE n.env_id = r.env_id AND n.id = r.test_id)
) t LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
JOIN json_each((SELECT json_group_array(json_array(
    (SELECT y.rowid FROM test_executions y
      WHERE y.env_id = t.env_id AND y.test_id = t.test_id AND y.sub_test_unique_id = g.sub_test_unique_id
        AND y.status IN ('WARN', 'FAIL', 'ERROR') AND y.start_time = g.last_start_time
      ORDER BY y.id DESC LIMIT 1),
    next_pass, first_start_time, run_count, worst_status))
  FROM (
    SELECT sub_test_unique_id, next_pass, min(start_time) AS first_start_time, max(start_time) AS last_start_time,
      count(*) AS run_count, min(status) AS worst_status
    FROM (
      SELECT f.sub_test_unique_id, f.start_time, f.status,
        (SELECT p.rowid FROM test_executions p
          WHERE p.env_id = t.env_id AND p.test_id = t.test_id AND p.start_time >= f.start_time AND p.status = 'PASS'
            AND +p.sub_test_unique_id = f.sub_test_unique_id AND (p.start_time > f.start_time OR p.id > f.id)
          ORDER BY p.start_time LIMIT 1) AS next_pass
      FROM test_executions f
      WHERE f.env_id = t.env_id AND f.test_id = t.test_id AND f.status IN ('WARN', 'FAIL', 'ERROR')
    )
    GROUP BY sub_test_unique_id, next_pass
  ) g)) i
JOIN test_executions l ON l.rowid = json_extract(i.value, '$[0]')
LEFT JOIN test_executions p ON p.rowid = json_extract(i.value, '$[1]');--> statement-breakpoint
CREATE VIEW `test_owners` AS SELECT DISTINCT t.env_id, v.name AS env_name, t.id AS test_id, t.name AS test_name, t.asset_id, a.name AS asset_name,
  CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS owner
FROM tests t JOIN json_each(CASE WHEN json_valid(t.owners) THEN CASE json_type(t.owners) WHEN 'array' THEN t.owners END END) e LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
WHERE t.deleted_at IS NULL AND CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL;--> statement-breakpoint
CREATE VIEW `test_status` AS SELECT t.env_id, v.name AS env_name,
  t.id AS test_id, t.name AS test_name, t.test_type, t.severity, x.sub_test_unique_id, x.sub_type, t.asset_id,
  a.name AS asset_name, CAST(COALESCE(x.column_name, t.column_name) AS TEXT) AS column_name, x.quality_dimension, x.status,
  x.failure_count, x.result_reason, x.exception, x.id AS execution_id, x.start_time, x.duration_seconds,
  CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(t.owners) THEN CASE json_type(t.owners) WHEN 'array' THEN t.owners END END) e) AS TEXT) AS test_owners, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS asset_owners
FROM tests t LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
LEFT JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
WHERE t.deleted_at IS NULL AND COALESCE(t.disabled, 0) = 0;--> statement-breakpoint
CREATE VIEW `test_tags` AS SELECT DISTINCT t.env_id, v.name AS env_name, t.id AS test_id, t.name AS test_name, t.asset_id, a.name AS asset_name,
  CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS tag
FROM tests t JOIN json_each(CASE WHEN json_valid(t.tags) THEN CASE json_type(t.tags) WHEN 'array' THEN t.tags END END) e LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
WHERE t.deleted_at IS NULL AND CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL;--> statement-breakpoint
CREATE VIEW `coverage_by_impact` AS SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, a.db_name, a.schema_name, a.table_name,
  CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS owners, CAST((SELECT count(*) FROM tests t
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND COALESCE(t.disabled, 0) = 0) AS INTEGER) AS test_count,
  CAST((SELECT count(*) FROM columns c
    WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL) AS INTEGER) AS column_count,
  CAST((SELECT COALESCE(sum(n), 0) FROM (SELECT sum(u.n) AS n FROM (
      SELECT lower(c.name) AS name, 1 AS n, 0 AS tested FROM columns c
      WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL
      UNION ALL SELECT lower(s.column_name), 0, 1 FROM test_status s WHERE s.env_id = a.env_id AND s.asset_id = a.id
    ) u GROUP BY u.name HAVING max(u.tested) = 1) x) AS INTEGER) AS tested_column_count,
  CAST((SELECT count(*) FROM asset_lineage e
    LEFT JOIN assets o ON o.env_id = e.env_id AND o.id = e.downstream_asset_id
    WHERE e.env_id = a.env_id AND e.upstream_asset_id = a.id AND e.downstream_asset_id <> a.id
      AND o.deleted_at IS NULL) AS INTEGER) AS direct_downstream_count,
  CAST((WITH RECURSIVE walk(id, depth) AS (
    SELECT a.id, '' COLLATE RTRIM
    UNION
    SELECT e.downstream_asset_id, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = a.env_id AND unlikely(e.upstream_asset_id = walk.id)
    WHERE NOT EXISTS (SELECT 1 FROM assets n WHERE n.env_id = a.env_id AND n.id = walk.id AND n.deleted_at IS NOT NULL)
    ORDER BY 2 COLLATE BINARY
  )
  SELECT count(*) FROM walk LEFT JOIN assets o ON o.env_id = a.env_id AND o.id = walk.id
  WHERE length(depth) > 0 AND o.deleted_at IS NULL) AS INTEGER) AS downstream_count,
  CAST((WITH RECURSIVE walk(id, depth) AS (
    SELECT a.id, '' COLLATE RTRIM
    UNION
    SELECT e.downstream_asset_id, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = a.env_id AND unlikely(e.upstream_asset_id = walk.id)
    WHERE NOT EXISTS (SELECT 1 FROM assets n WHERE n.env_id = a.env_id AND n.id = walk.id AND n.deleted_at IS NOT NULL)
    ORDER BY 2 COLLATE BINARY
  )
  SELECT count(*) FROM walk LEFT JOIN assets o ON o.env_id = a.env_id AND o.id = walk.id
  WHERE length(depth) > 0 AND o.deleted_at IS NULL AND o.kind = 'bi') AS INTEGER) AS downstream_bi_count
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL AND a.kind = 'table';--> statement-breakpoint
CREATE VIEW `failing_test_impact` AS SELECT f.env_id, f.env_name, f.test_id, f.test_name, f.test_type, f.severity, f.sub_test_unique_id, f.column_name,
  f.status, f.start_time, f.asset_id, f.asset_name, f.test_owners, f.asset_owners, CAST(json_extract(w.value, '$[0]') AS TEXT) AS downstream_asset_id,
  o.name AS downstream_name, CAST(CASE WHEN o.id IS NOT NULL THEN CAST(CASE WHEN o.kind IN ('table', 'bi', 'semantic', 'etl') THEN o.kind ELSE 'other' END AS TEXT) END AS TEXT) AS downstream_kind,
  o.bi_type AS downstream_bi_type, o.url AS downstream_url, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(o.owners) THEN CASE json_type(o.owners) WHEN 'array' THEN o.owners END END) e) AS TEXT) AS downstream_owners,
  CAST(json_extract(w.value, '$[1]') AS INTEGER) AS depth
FROM failing_tests f
JOIN json_each((
  WITH RECURSIVE walk(id, depth) AS (
    SELECT f.asset_id, '' COLLATE RTRIM
    UNION
    SELECT e.downstream_asset_id, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = f.env_id AND unlikely(e.upstream_asset_id = walk.id)
    WHERE NOT EXISTS (SELECT 1 FROM assets n WHERE n.env_id = f.env_id AND n.id = walk.id AND n.deleted_at IS NOT NULL)
    ORDER BY 2 COLLATE BINARY
  )
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = f.env_id AND o.id = json_extract(w.value, '$[0]')
WHERE o.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `stale_assets` AS SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, CAST(CASE WHEN a.kind IN ('table', 'bi', 'semantic', 'etl') THEN a.kind ELSE 'other' END AS TEXT) AS kind, a.db_name,
  a.schema_name, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS owners, a.updated_at, CAST((julianday(c.watermark) - julianday(a.updated_at)) AS INTEGER) AS days_since_update,
  CAST((SELECT max(x.start_time) FROM tests t
    JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND COALESCE(t.disabled, 0) = 0) AS TEXT) AS last_test_start_time
FROM assets a JOIN sync_checkpoints c ON c.env_id = a.env_id AND c.stream = 'assets' LEFT JOIN environments v ON v.id = a.env_id
WHERE a.deleted_at IS NULL AND (julianday(c.watermark) - julianday(a.updated_at)) > 30;--> statement-breakpoint
CREATE VIEW `asset_health` AS SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.score AS total,
  (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'completeness') AS completeness, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'uniqueness') AS uniqueness, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'freshness') AS freshness,
  (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'validity') AS validity, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'accuracy') AS accuracy, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'consistency') AS consistency,
  h.test_count, h.bucket_at
FROM asset_health_scores h LEFT JOIN environments v ON v.id = h.env_id LEFT JOIN assets a ON a.env_id = h.env_id AND a.id = h.asset_id
WHERE a.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `asset_owners` AS SELECT DISTINCT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, CAST(CASE WHEN a.kind IN ('table', 'bi', 'semantic', 'etl') THEN a.kind ELSE 'other' END AS TEXT) AS kind,
  CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS owner
FROM assets a JOIN json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e LEFT JOIN environments v ON v.id = a.env_id
WHERE a.deleted_at IS NULL AND CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL;--> statement-breakpoint
CREATE VIEW `asset_tags` AS SELECT DISTINCT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, CAST(CASE WHEN a.kind IN ('table', 'bi', 'semantic', 'etl') THEN a.kind ELSE 'other' END AS TEXT) AS kind,
  CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS tag
FROM assets a JOIN json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e LEFT JOIN environments v ON v.id = a.env_id
WHERE a.deleted_at IS NULL AND CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL;--> statement-breakpoint
CREATE VIEW `health_daily` AS SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.dimension,
  CAST(substr(h.bucket_at, 1, 10) AS TEXT) AS day, h.score, CAST(avg(h.score) AS REAL) AS mean_score, h.test_count,
  CAST(count(*) AS INTEGER) AS bucket_count, CAST(max(h.bucket_at) AS TEXT) AS last_bucket_at
FROM asset_health_score_history h LEFT JOIN environments v ON v.id = h.env_id LEFT JOIN assets a ON a.env_id = h.env_id AND a.id = h.asset_id
WHERE a.deleted_at IS NULL
GROUP BY h.env_id, h.asset_id, h.dimension, day;--> statement-breakpoint
CREATE VIEW `lineage_downstream` AS SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, CAST(json_extract(w.value, '$[0]') AS TEXT) AS downstream_asset_id,
  o.name AS downstream_name, CAST(CASE WHEN o.id IS NOT NULL THEN CAST(CASE WHEN o.kind IN ('table', 'bi', 'semantic', 'etl') THEN o.kind ELSE 'other' END AS TEXT) END AS TEXT) AS downstream_kind,
  CAST(json_extract(w.value, '$[1]') AS INTEGER) AS depth
FROM (SELECT DISTINCT env_id, upstream_asset_id AS asset_id FROM asset_lineage) r LEFT JOIN environments v ON v.id = r.env_id LEFT JOIN assets a ON a.env_id = r.env_id AND a.id = r.asset_id
JOIN json_each((
  WITH RECURSIVE walk(id, depth) AS (
    SELECT r.asset_id, '' COLLATE RTRIM
    UNION
    SELECT e.downstream_asset_id, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = r.env_id AND unlikely(e.upstream_asset_id = walk.id)
    WHERE NOT EXISTS (SELECT 1 FROM assets n WHERE n.env_id = r.env_id AND n.id = walk.id AND n.deleted_at IS NOT NULL)
    ORDER BY 2 COLLATE BINARY
  )
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = r.env_id AND o.id = json_extract(w.value, '$[0]')
WHERE a.deleted_at IS NULL AND o.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `lineage_upstream` AS SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, CAST(json_extract(w.value, '$[0]') AS TEXT) AS upstream_asset_id,
  o.name AS upstream_name, CAST(CASE WHEN o.id IS NOT NULL THEN CAST(CASE WHEN o.kind IN ('table', 'bi', 'semantic', 'etl') THEN o.kind ELSE 'other' END AS TEXT) END AS TEXT) AS upstream_kind,
  CAST(json_extract(w.value, '$[1]') AS INTEGER) AS depth
FROM (SELECT DISTINCT env_id, downstream_asset_id AS asset_id FROM asset_lineage) r LEFT JOIN environments v ON v.id = r.env_id LEFT JOIN assets a ON a.env_id = r.env_id AND a.id = r.asset_id
JOIN json_each((
  WITH RECURSIVE walk(id, depth) AS (
    SELECT r.asset_id, '' COLLATE RTRIM
    UNION
    SELECT e.upstream_asset_id, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = r.env_id AND unlikely(e.downstream_asset_id = walk.id)
    WHERE NOT EXISTS (SELECT 1 FROM assets n WHERE n.env_id = r.env_id AND n.id = walk.id AND n.deleted_at IS NOT NULL)
    ORDER BY 2 COLLATE BINARY
  )
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = r.env_id AND o.id = json_extract(w.value, '$[0]')
WHERE a.deleted_at IS NULL AND o.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `live_assets` AS SELECT a.env_id, v.name AS env_name, a.id, a.name, CAST(CASE WHEN a.kind IN ('table', 'bi', 'semantic', 'etl') THEN a.kind ELSE 'other' END AS TEXT) AS kind, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization, a.bi_platform, a.bi_type, a.url,
  a.description, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS owners, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e) AS TEXT) AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `live_bi_assets` AS SELECT a.env_id, v.name AS env_name, a.id, a.name, a.source_type, a.bi_platform, a.bi_type, a.url,
  a.description, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS owners, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e) AS TEXT) AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL AND a.kind = 'bi';--> statement-breakpoint
CREATE VIEW `live_columns` AS SELECT c.env_id, v.name AS env_name, c.id, c.asset_id, a.name AS asset_name, c.name, c.data_type,
  c.synced_at, c.mirrored_at
FROM columns c LEFT JOIN environments v ON v.id = c.env_id LEFT JOIN assets a ON a.env_id = c.env_id AND a.id = c.asset_id AND a.deleted_at IS NULL
WHERE c.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `live_tables` AS SELECT a.env_id, v.name AS env_name, a.id, a.name, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization,
  a.description, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS owners, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e) AS TEXT) AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL AND a.kind = 'table';--> statement-breakpoint
CREATE TABLE `pruned_history` (
	`env_id` text NOT NULL,
	`history` text NOT NULL,
	`action` text NOT NULL,
	`complete_before` text,
	`pruning_before` text,
	`pruned_through` text NOT NULL,
	`row_count` integer NOT NULL,
	`mirrored_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `history`, `action`)
);--> statement-breakpoint
CREATE TABLE `alert_deliveries` (
	`env_id` text NOT NULL,
	`alert_id` text NOT NULL,
	`number` integer NOT NULL,
	`channel` text NOT NULL,
	`message` text NOT NULL,
	`created_at` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`refusals` integer DEFAULT 0 NOT NULL,
	`delivered_at` text,
	`error` text,
	PRIMARY KEY(`env_id`, `alert_id`, `number`, `channel`)
);
--> statement-breakpoint
CREATE INDEX `alert_deliveries_waiting` ON `alert_deliveries` (`env_id`,`created_at`) WHERE delivered_at is null;--> statement-breakpoint
CREATE TABLE `alert_rules` (
	`env_id` text NOT NULL,
	`rule` text NOT NULL,
	`kind` text NOT NULL,
	`applied_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `rule`, `kind`)
);
--> statement-breakpoint
CREATE TABLE `alerts` (
	`env_id` text NOT NULL,
	`id` text NOT NULL,
	`rule` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`members` text NOT NULL,
	`begun_at` text,
	`ended_at` text,
	`silent` integer NOT NULL,
	`notified_at` text,
	`messages` integer NOT NULL,
	`snoozed_until` text,
	`channels` text NOT NULL,
	`message` text,
	PRIMARY KEY(`env_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `alerts_by_end` ON `alerts` (`env_id`,`ended_at`);
