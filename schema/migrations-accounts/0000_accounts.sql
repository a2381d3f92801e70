CREATE SCHEMA "obsync_accounts";
--> statement-breakpoint
CREATE TABLE "obsync_accounts"."account_environments" (
	"account" text collate "C" NOT NULL,
	"env_id" text collate "C" NOT NULL,
	"name" text collate "C" NOT NULL,
	"cron" text collate "C",
	"due_at" timestamp with time zone,
	"queue_at" timestamp with time zone,
	"retry_at" timestamp with time zone,
	"worker" text collate "C",
	"started_at" timestamp with time zone,
	"last_started_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"synced_at" timestamp with time zone,
	"status" text collate "C",
	"error" text collate "C",
	CONSTRAINT "account_environments_account_env_id_pk" PRIMARY KEY("account","env_id")
);
--> statement-breakpoint
CREATE TABLE "obsync_accounts"."accounts" (
	"name" text collate "C" PRIMARY KEY NOT NULL,
	"base_url" text collate "C" NOT NULL,
	"token_env" text collate "C",
	"token_file" text collate "C",
	"mirror_schema" text collate "C" NOT NULL,
	"cron" text collate "C",
	"delay_seconds" bigint NOT NULL,
	"options" text collate "C" NOT NULL,
	"added_at" timestamp with time zone DEFAULT now() NOT NULL,
	"listed_at" timestamp with time zone,
	"listing_error" text collate "C",
	"listing_due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"worker" text collate "C",
	CONSTRAINT "accounts_mirror_schema_unique" UNIQUE("mirror_schema")
);
--> statement-breakpoint
CREATE TABLE "obsync_accounts"."workers" (
	"worker" text collate "C" PRIMARY KEY NOT NULL,
	"host" text collate "C" NOT NULL,
	"pid" bigint NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"concurrency" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "account_environments_queue" ON "obsync_accounts"."account_environments" USING btree ("queue_at","due_at");--> statement-breakpoint
CREATE INDEX "account_environments_claimed" ON "obsync_accounts"."account_environments" USING btree ("account") WHERE worker is not null;--> statement-breakpoint
CREATE INDEX "accounts_listing_due" ON "obsync_accounts"."accounts" USING btree ("listing_due_at");