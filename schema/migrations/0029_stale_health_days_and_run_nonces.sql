CREATE TABLE `stale_health_days` (
	`env_id` text NOT NULL,
	`day` text NOT NULL,
	PRIMARY KEY(`env_id`, `day`)
);
--> statement-breakpoint
ALTER TABLE `sync_runs` ADD `nonce` text DEFAULT '' NOT NULL;--> statement-breakpoint
-- The means that an earlier version has kept may lack days, or assets that came back.
INSERT INTO `stale_health_days` (`env_id`, `day`)
SELECT `env_id`, substr(`bucket_at`, 1, 10) FROM `asset_health_score_history` UNION SELECT `env_id`, `day` FROM `asset_health_means`;
--> statement-breakpoint
UPDATE `asset_health_means` SET `scores_at` = '1970-01-01T00:00:00.000000Z' WHERE `scores_at` = '';
--> statement-breakpoint
UPDATE `sync_runs` SET `nonce` = lower(hex(randomblob(16)));
