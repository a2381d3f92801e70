ALTER TABLE `mirror_environments` ADD `returned_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `sync_checkpoints` ADD `returned_count` integer DEFAULT 0 NOT NULL;