CREATE TABLE `seen_pages` (
	`id` integer PRIMARY KEY NOT NULL,
	`env_id` text NOT NULL,
	`stream` text NOT NULL,
	`read_number` integer NOT NULL,
	`keys` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `seen_pages_by_stream` ON `seen_pages` (`env_id`,`stream`);