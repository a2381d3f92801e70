ALTER TABLE `mirror` ADD `quota_remaining` integer;--> statement-breakpoint
ALTER TABLE `mirror` ADD `quota_reset_seconds` integer;--> statement-breakpoint
ALTER TABLE `mirror` ADD `quota_noted_at` text;