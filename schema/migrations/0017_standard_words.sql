ALTER TABLE `sync_checkpoints` RENAME COLUMN "scan_ended_pass" TO "scan_ended_cycle";--> statement-breakpoint
ALTER TABLE `sync_checkpoints` RENAME COLUMN "finished_pass" TO "finished_cycle";--> statement-breakpoint
ALTER TABLE `sync_checkpoints` RENAME COLUMN "set_aside" TO "waiting_scan";--> statement-breakpoint
ALTER TABLE `sync_runs` RENAME COLUMN "pass_id" TO "cycle_id";