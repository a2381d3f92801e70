CREATE INDEX `asset_lineage_staged_by_env` ON `asset_lineage_staged` (`env_id`);--> statement-breakpoint
CREATE INDEX `column_lineage_staged_by_env` ON `column_lineage_staged` (`env_id`);--> statement-breakpoint
CREATE INDEX `latest_test_executions_staged_by_env` ON `latest_test_executions_staged` (`env_id`);--> statement-breakpoint
CREATE INDEX `asset_health_score_dimensions_staged_by_env` ON `asset_health_score_dimensions_staged` (`env_id`);--> statement-breakpoint
CREATE INDEX `asset_health_scores_staged_by_env` ON `asset_health_scores_staged` (`env_id`);