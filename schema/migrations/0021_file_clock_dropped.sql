ALTER TABLE `mirror` DROP COLUMN `mirrored_at`;--> statement-breakpoint
ALTER TABLE `mirror` DROP COLUMN `last_mark`;