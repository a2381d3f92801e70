UPDATE `assets` SET `owners` = '[]' WHERE `owners` IS NULL AND json_type(`extra`, '$.owners') IS NULL;--> statement-breakpoint
UPDATE `assets` SET `tags` = '[]' WHERE `tags` IS NULL AND json_type(`extra`, '$.tags') IS NULL;--> statement-breakpoint
UPDATE `tests` SET `owners` = '[]' WHERE `owners` IS NULL AND json_type(`extra`, '$.owners') IS NULL;--> statement-breakpoint
UPDATE `tests` SET `tags` = '[]' WHERE `tags` IS NULL AND json_type(`extra`, '$.tags') IS NULL;
