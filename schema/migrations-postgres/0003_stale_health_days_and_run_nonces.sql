CREATE TABLE "stale_health_days" (
	"env_id" text collate "C" NOT NULL,
	"day" date NOT NULL,
	CONSTRAINT "stale_health_days_pkey" PRIMARY KEY("env_id","day")
);
--> statement-breakpoint
ALTER TABLE "sync_runs" ADD COLUMN "nonce" text collate "C" DEFAULT '' NOT NULL;--> statement-breakpoint
-- An earlier version has kept no means, or those of the file that the mirror was copied from.
INSERT INTO "stale_health_days" ("env_id", "day")
SELECT "env_id", CAST("bucket_at" AT TIME ZONE 'UTC' AS date) FROM "asset_health_score_history" UNION SELECT "env_id", "day" FROM "asset_health_means";
--> statement-breakpoint
UPDATE "sync_runs" SET "nonce" = replace(CAST(gen_random_uuid() AS text), '-', '');
