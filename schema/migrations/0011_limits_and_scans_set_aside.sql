ALTER TABLE `sync_checkpoints` ADD `page_limit` integer;--> statement-breakpoint
ALTER TABLE `sync_checkpoints` ADD `page_limit_at` text;--> statement-breakpoint
ALTER TABLE `sync_checkpoints` ADD `set_aside` text;