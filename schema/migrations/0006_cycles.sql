ALTER TABLE `sync_runs` ADD `full` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `sync_runs` ADD `left_over` text;