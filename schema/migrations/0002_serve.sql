DROP INDEX `assets_by_synced_at`;--> statement-breakpoint
DROP INDEX `assets_by_kind`;--> statement-breakpoint
CREATE INDEX `assets_live` ON `assets` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `assets_gone` ON `assets` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX `assets_live_by_kind` ON `assets` (`env_id`,`kind`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `assets_by_kind` ON `assets` (`env_id`,`kind`,`id`);--> statement-breakpoint
DROP INDEX `columns_by_synced_at`;--> statement-breakpoint
CREATE INDEX `columns_live` ON `columns` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `columns_gone` ON `columns` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is not null;--> statement-breakpoint
DROP INDEX `tests_by_synced_at`;--> statement-breakpoint
CREATE INDEX `tests_live` ON `tests` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `tests_gone` ON `tests` (`env_id`,`mirrored_at`,`id`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX `tests_disabled` ON `tests` (`env_id`,`id`) WHERE disabled = 1;--> statement-breakpoint
ALTER TABLE `mirror` ADD `cursor_key` text;--> statement-breakpoint
CREATE INDEX `latest_test_executions_by_synced_at` ON `latest_test_executions` (`env_id`,`synced_at`,`sub_test_unique_id`);