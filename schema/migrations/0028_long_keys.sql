-- No row has a key longer than 1,000 bytes any more (R20). What is kept for ever stays (R17).
DELETE FROM `assets` WHERE length(CAST(`id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `columns` WHERE length(CAST(`id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `tests` WHERE length(CAST(`id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `asset_lineage` WHERE length(CAST(`upstream_asset_id` AS blob)) > 1000 OR length(CAST(`downstream_asset_id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `asset_lineage_staged` WHERE length(CAST(`upstream_asset_id` AS blob)) > 1000 OR length(CAST(`downstream_asset_id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `column_lineage` WHERE length(CAST(`downstream_column_id` AS blob)) > 1000 OR length(CAST(`upstream_column_id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `column_lineage_staged` WHERE length(CAST(`downstream_column_id` AS blob)) > 1000 OR length(CAST(`upstream_column_id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `latest_test_executions` WHERE length(CAST(`sub_test_unique_id` AS blob)) > 1000 OR length(CAST(`id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `latest_test_executions_staged` WHERE length(CAST(`sub_test_unique_id` AS blob)) > 1000 OR length(CAST(`id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `asset_health_scores` WHERE length(CAST(`asset_id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `asset_health_scores_staged` WHERE length(CAST(`asset_id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `asset_health_score_dimensions` WHERE length(CAST(`asset_id` AS blob)) > 1000 OR length(CAST(`dimension` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `asset_health_score_dimensions_staged` WHERE length(CAST(`asset_id` AS blob)) > 1000 OR length(CAST(`dimension` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `marks` WHERE length(CAST(`id` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `held_removals` WHERE length(CAST(`key_1` AS blob)) > 1000 OR length(CAST(`key_2` AS blob)) > 1000;--> statement-breakpoint
DELETE FROM `rejected_rows` WHERE `row_key` <> `payload` AND length(CAST(`row_key` AS blob)) > 1000;
