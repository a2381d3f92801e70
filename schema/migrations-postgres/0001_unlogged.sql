-- What SQLite keeps in temporary tables: a crash of the server may empty them, since they are made again from the other tables.
ALTER TABLE "seen_keys" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "seen_through" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "missing_keys" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "missing_found" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "staged_keys" SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE "staged_loaded" SET UNLOGGED;
