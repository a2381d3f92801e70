-- every commit: the clock and the checkpoint

select max(mirrored_at) from mirror_environments;

insert into mirror_environments (env_id, mirrored_at)
  values (@env, @mirroredAt)
  on conflict (env_id) do update
  set mirrored_at = excluded.mirrored_at;

insert into "sync_checkpoints" ("env_id", "stream", "watermark", "scanned_at", "scan_ended_at", "scan_ended_cycle",
    "scan_pages", "scan_due", "unavailable", "finished_cycle", "round", "page_limit", "page_limit_at", "waiting_scan",
    "returned_count")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict ("env_id", "stream") do update
  set "watermark" = excluded."watermark", "scanned_at" = excluded."scanned_at",
      "scan_ended_at" = excluded."scan_ended_at", "scan_ended_cycle" = excluded."scan_ended_cycle",
      "scan_pages" = excluded."scan_pages", "scan_due" = excluded."scan_due", "unavailable" = excluded."unavailable",
      "finished_cycle" = excluded."finished_cycle", "round" = excluded."round", "page_limit" = excluded."page_limit",
      "page_limit_at" = excluded."page_limit_at", "waiting_scan" = excluded."waiting_scan",
      "returned_count" = excluded."returned_count";


-- rows that are kept for ever

insert into "test_executions" ("env_id", "sub_test_unique_id", "id", "test_id", "sub_type", "status", "failure_count",
    "start_time", "duration_seconds", "column_name", "quality_dimension", "result_reason", "exception", "description",
    "synced_at", "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "sub_test_unique_id", "id") do update
  set "test_id" = excluded."test_id", "sub_type" = excluded."sub_type", "status" = excluded."status",
      "failure_count" = excluded."failure_count", "start_time" = excluded."start_time",
      "duration_seconds" = excluded."duration_seconds", "column_name" = excluded."column_name",
      "quality_dimension" = excluded."quality_dimension", "result_reason" = excluded."result_reason",
      "exception" = excluded."exception", "description" = excluded."description", "synced_at" = excluded."synced_at",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra"
  where ("test_executions"."test_id" is distinct from excluded."test_id" or "test_executions"."sub_type" is distinct from excluded."sub_type" or "test_executions"."status" is distinct from excluded."status" or "test_executions"."failure_count" is distinct from excluded."failure_count" or "test_executions"."start_time" is distinct from excluded."start_time" or "test_executions"."duration_seconds" is distinct from excluded."duration_seconds" or "test_executions"."column_name" is distinct from excluded."column_name" or "test_executions"."quality_dimension" is distinct from excluded."quality_dimension" or "test_executions"."result_reason" is distinct from excluded."result_reason" or "test_executions"."exception" is distinct from excluded."exception" or "test_executions"."description" is distinct from excluded."description" or "test_executions"."synced_at" is distinct from excluded."synced_at" or ("test_executions"."extra" is distinct from excluded."extra"
            and not same_json("test_executions"."extra", excluded."extra")))
    and ("test_executions".synced_at is null or excluded.synced_at >= "test_executions".synced_at);


-- rows that are back: rejected no more, held back no more

select exists (select 1 from rejected_rows as x where x.env_id = @env and x.stream = 'test_executions') rejected_rows,
    exists (select 1
      from held_removals as x
      where x.env_id = @env
        and x.stream = 'test_executions') held_removals;

delete from rejected_rows as x
  where x.env_id = @env
    and x.stream = 'test_executions'
    and x.row_key in (select value from json_each(@joined));

delete from held_removals as x
  where x.env_id = @env
    and x.stream = 'test_executions'
    and x.key_1 in (select value from json_each(@joined));


-- rows that no table can take

insert into "rejected_rows" ("run_id", "env_id", "stream", "row_key", "reason", "payload", "seen_at")
  values (:run_id, :env_id, :stream, ?, ?, ?, :seen_at)
  on conflict ("env_id", "stream", "row_key") do update
  set "run_id" = excluded."run_id", "reason" = excluded."reason", "payload" = excluded."payload",
      "seen_at" = excluded."seen_at";


-- a history that was read to its end

delete from rejected_rows as r
  where r.env_id = @env
    and r.stream = 'test_executions'
    and r.run_id < @since
    and not exists (
      select 1
      from tests t
      where t.env_id = r.env_id
        and t.id = r.payload ->> 'test_id'
        and t.id <> @testId
        and t.deleted_at is null);

update history_failures set run_id = null where env_id = @env and test_id = @testId;

insert into "test_readings" ("env_id", "test_id", "read_at", "mirrored_at")
  values (:env_id, ?, ?, :mirrored_at)
  on conflict ("env_id", "test_id") do update
  set "read_at" = excluded."read_at", "mirrored_at" = excluded."mirrored_at";

insert into "test_execution_gaps" ("env_id", "test_id", "gap_from", "gap_to")
  values (:env_id, ?, ?, ?)
  on conflict ("env_id", "test_id", "gap_from") do update
  set "gap_to" = excluded."gap_to";


-- a history that could not be read

select page_limit from history_failures where env_id = @env and test_id = @testId;

insert into "history_failures" ("env_id", "test_id", "run_id", "page_limit")
  values (:env_id, ?, :run_id, ?)
  on conflict ("env_id", "test_id") do update
  set "run_id" = excluded."run_id", "page_limit" = excluded."page_limit";


-- what one read saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'test_executions' and p.read_number = @which;

delete from missing_keys as m where m.env_id = @env and m.stream = 'test_executions';

delete from missing_found as m where m.env_id = @env and m.stream = 'test_executions';

delete from seen_keys as s where s.env_id = @env and s.stream = 'test_executions';

delete from seen_through as s where s.env_id = @env and s.stream = 'test_executions';


-- what a round saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'test_executions';

delete from missing_keys as m where m.env_id = @env and m.stream = 'test_executions';

delete from missing_found as m where m.env_id = @env and m.stream = 'test_executions';

delete from seen_keys as s where s.env_id = @env and s.stream = 'test_executions';

delete from seen_through as s where s.env_id = @env and s.stream = 'test_executions';
