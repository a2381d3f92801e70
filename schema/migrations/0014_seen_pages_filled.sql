-- What the reads of an unfinished round have seen so far, two thousand keys a page: those noted one by one, and those of the rows gathered.
INSERT INTO `seen_pages` (`env_id`, `stream`, `read_number`, `keys`)
SELECT `env_id`, `stream`, `read_number`, json_group_array(json_array(`key_1`, `key_2`)) FROM `seen_keys` GROUP BY 1, 2, 3, rowid / 2000;
--> statement-breakpoint
INSERT INTO `seen_pages` (`env_id`, `stream`, `read_number`, `keys`)
SELECT `env_id`, 'asset_lineage', `read_number`, json_group_array(json_array(`upstream_asset_id`, `downstream_asset_id`)) FROM `asset_lineage_staged` GROUP BY 1, 3, rowid / 2000;
--> statement-breakpoint
INSERT INTO `seen_pages` (`env_id`, `stream`, `read_number`, `keys`)
SELECT `env_id`, 'column_lineage', `read_number`, json_group_array(json_array(`downstream_column_id`, `upstream_column_id`)) FROM `column_lineage_staged` GROUP BY 1, 3, rowid / 2000;
--> statement-breakpoint
INSERT INTO `seen_pages` (`env_id`, `stream`, `read_number`, `keys`)
SELECT `env_id`, 'latest_test_executions', `read_number`, json_group_array(json_array(`sub_test_unique_id`, '')) FROM `latest_test_executions_staged` GROUP BY 1, 3, rowid / 2000;
--> statement-breakpoint
INSERT INTO `seen_pages` (`env_id`, `stream`, `read_number`, `keys`)
SELECT `env_id`, 'asset_health_scores', `read_number`, json_group_array(json_array(`asset_id`, '')) FROM `asset_health_scores_staged` GROUP BY 1, 3, rowid / 2000;
