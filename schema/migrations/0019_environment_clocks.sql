CREATE TABLE `mirror_environments` (
	`env_id` text PRIMARY KEY NOT NULL,
	`mirrored_at` text NOT NULL,
	`last_mark` integer DEFAULT 0 NOT NULL
);
