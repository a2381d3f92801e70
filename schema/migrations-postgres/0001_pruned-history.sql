CREATE TABLE "pruned_history" (
	"env_id" text collate "C" NOT NULL,
	"history" text collate "C" NOT NULL,
	"action" text collate "C" NOT NULL,
	"complete_before" timestamp with time zone,
	"pruning_before" timestamp with time zone,
	"pruned_through" text collate "C" NOT NULL,
	"row_count" bigint NOT NULL,
	"mirrored_at" timestamp with time zone NOT NULL,
	CONSTRAINT "pruned_history_pkey" PRIMARY KEY("env_id","history","action")
);
