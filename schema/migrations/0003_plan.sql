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
ALTER TABLE `mirror` ADD `quota_limit` integer;--> statement-breakpoint
ALTER TABLE `mirror` ADD `quota_window_seconds` integer;