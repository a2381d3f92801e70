CREATE TABLE `pruned_history` (
	`env_id` text NOT NULL,
	`history` text NOT NULL,
	`action` text NOT NULL,
	`complete_before` text,
	`pruning_before` text,
	`pruned_through` text NOT NULL,
	`row_count` integer NOT NULL,
	`mirrored_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `history`, `action`)
);
