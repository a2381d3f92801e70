CREATE TABLE `history_failures` (
	`env_id` text NOT NULL,
	`test_id` text NOT NULL,
	`run_id` integer,
	`page_limit` integer,
	PRIMARY KEY(`env_id`, `test_id`)
);
