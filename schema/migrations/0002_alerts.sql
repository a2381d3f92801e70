CREATE TABLE `alert_deliveries` (
	`env_id` text NOT NULL,
	`alert_id` text NOT NULL,
	`number` integer NOT NULL,
	`channel` text NOT NULL,
	`message` text NOT NULL,
	`created_at` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`delivered_at` text,
	`error` text,
	PRIMARY KEY(`env_id`, `alert_id`, `number`, `channel`)
);
--> statement-breakpoint
CREATE INDEX `alert_deliveries_waiting` ON `alert_deliveries` (`env_id`,`created_at`) WHERE delivered_at is null;--> statement-breakpoint
CREATE TABLE `alert_rules` (
	`env_id` text NOT NULL,
	`rule` text NOT NULL,
	`kind` text NOT NULL,
	`applied_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `rule`, `kind`)
);
--> statement-breakpoint
CREATE TABLE `alerts` (
	`env_id` text NOT NULL,
	`id` text NOT NULL,
	`rule` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`members` text NOT NULL,
	`begun_at` text,
	`ended_at` text,
	`silent` integer NOT NULL,
	`notified_at` text,
	`messages` integer NOT NULL,
	`snoozed_until` text,
	`channels` text NOT NULL,
	`message` text,
	PRIMARY KEY(`env_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `alerts_open` ON `alerts` (`env_id`,`kind`) WHERE ended_at is null;