CREATE TABLE "alert_deliveries" (
	"env_id" text collate "C" NOT NULL,
	"alert_id" text collate "C" NOT NULL,
	"number" bigint NOT NULL,
	"channel" text collate "C" NOT NULL,
	"message" json NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"attempts" bigint DEFAULT 0 NOT NULL,
	"delivered_at" timestamp with time zone,
	"error" text collate "C",
	CONSTRAINT "alert_deliveries_pkey" PRIMARY KEY("env_id","alert_id","number","channel")
);
--> statement-breakpoint
CREATE TABLE "alert_rules" (
	"env_id" text collate "C" NOT NULL,
	"rule" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"applied_at" timestamp with time zone NOT NULL,
	CONSTRAINT "alert_rules_pkey" PRIMARY KEY("env_id","rule","kind")
);
--> statement-breakpoint
CREATE TABLE "alerts" (
	"env_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"rule" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"subject" text collate "C" NOT NULL,
	"members" json NOT NULL,
	"begun_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"silent" boolean NOT NULL,
	"notified_at" timestamp with time zone,
	"messages" bigint NOT NULL,
	"snoozed_until" timestamp with time zone,
	"channels" json NOT NULL,
	"message" json,
	CONSTRAINT "alerts_pkey" PRIMARY KEY("env_id","id")
);
--> statement-breakpoint
CREATE INDEX "alert_deliveries_waiting" ON "alert_deliveries" USING btree ("env_id","created_at") WHERE delivered_at is null;--> statement-breakpoint
CREATE INDEX "alerts_open" ON "alerts" USING btree ("env_id","kind") WHERE ended_at is null;