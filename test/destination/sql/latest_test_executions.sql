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


-- rows that wait beside their table

select 1
  from "latest_test_executions"
  where env_id = @env
    and "sub_test_unique_id" >= (select min(value) from json_each(@keys))
  limit 1;

select t."sub_test_unique_id", t."id", t."test_id", t."sub_type", t."status", t."failure_count", t."start_time",
    t."duration_seconds", t."column_name", t."quality_dimension", t."result_reason", t."exception", t."description",
    t."synced_at", t."extra"
  from "latest_test_executions" t
  where t.env_id = @env
    and t."sub_test_unique_id" in (select value from json_each(@keys));

select exists (select 1 from staged_loaded b where b.env_id = @env and b.stream = 'latest_test_executions') is_loaded,
    exists (select 1
      from staged_keys g
      where g.env_id = @env
        and g.stream = 'latest_test_executions') has_keys, exists (select 1
      from "latest_test_executions_staged" s
      where s.env_id = @env) has_rows;

insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys);


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


-- keys that a read has shown

insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys);


-- rows that are back: rejected no more, held back no more

select exists (select 1 from rejected_rows as x where x.env_id = @env and x.stream = 'latest_test_executions') rejected_rows, exists (select 1
      from held_removals as x
      where x.env_id = @env
        and x.stream = 'latest_test_executions') held_removals;

delete from rejected_rows as x
  where x.env_id = @env
    and x.stream = 'latest_test_executions'
    and x.row_key in (select value from json_each(@joined));

delete from held_removals as x
  where x.env_id = @env
    and x.stream = 'latest_test_executions'
    and x.key_1 in (select value from json_each(@joined));


-- rows that no table can take

insert into "rejected_rows" ("run_id", "env_id", "stream", "row_key", "reason", "payload", "seen_at")
  values (:run_id, :env_id, :stream, ?, ?, ?, :seen_at)
  on conflict ("env_id", "stream", "row_key") do update
  set "run_id" = excluded."run_id", "reason" = excluded."reason", "payload" = excluded."payload",
      "seen_at" = excluded."seen_at";


-- rejected rows that were asked for and not shown

delete from rejected_rows as r
  where r.env_id = @env
    and r.stream = 'latest_test_executions'
    and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1
      from "latest_test_executions" t
      where t.env_id = @env
        and t."sub_test_unique_id" = r.row_key
        and true);


-- what one read saw and gathered is dropped

delete from "latest_test_executions_staged" as x where x.env_id = @env and x.read_number = @which;

delete from staged_keys as g where g.env_id = @env and g.stream = 'latest_test_executions';

delete from staged_loaded as g where g.env_id = @env and g.stream = 'latest_test_executions';

delete from seen_pages as p where p.env_id = @env and p.stream = 'latest_test_executions' and p.read_number = @which;

delete from missing_keys as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from missing_found as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from seen_keys as s where s.env_id = @env and s.stream = 'latest_test_executions';

delete from seen_through as s where s.env_id = @env and s.stream = 'latest_test_executions';


-- what a round saw and gathered is dropped

delete from "latest_test_executions_staged" as x where x.env_id = @env;

delete from staged_keys as g where g.env_id = @env and g.stream = 'latest_test_executions';

delete from staged_loaded as g where g.env_id = @env and g.stream = 'latest_test_executions';

delete from seen_pages as p where p.env_id = @env and p.stream = 'latest_test_executions';

delete from missing_keys as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from missing_found as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from seen_keys as s where s.env_id = @env and s.stream = 'latest_test_executions';

delete from seen_through as s where s.env_id = @env and s.stream = 'latest_test_executions';


-- a replacement of the table

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'latest_test_executions') last,
    (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') is_loaded, exists (select 1
      from "latest_test_executions_staged" w
      where w.env_id = @env) has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') has_marks, (select returned_count
      from mirror_environments
      where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'latest_test_executions'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'latest_test_executions', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

insert into missing_found values (@env, 'latest_test_executions') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'latest_test_executions', t."sub_test_unique_id", ''
  from "latest_test_executions" t
  where t.env_id = @env
    and case when exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'latest_test_executions'
        and s.key_1 = t."sub_test_unique_id") then false else true end
  order by t."sub_test_unique_id"
  on conflict do nothing;

select count(*)
  from "latest_test_executions" t
  where t.env_id = @env
    and true
    and (t."sub_test_unique_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'latest_test_executions')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'latest_test_executions'
        and s.key_1 = t."sub_test_unique_id")
    and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions'
        and w.id = t."sub_test_unique_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and not (exists (select 1
          from "tests" t_parent
          where t_parent.env_id = @env
            and t_parent.id = t."test_id"
            and (t_parent.deletion = 'tombstone' or exists (select 1
                  from "assets" t_parent_parent
                  where t_parent_parent.env_id = @env
                    and t_parent_parent.id = t_parent."asset_id"
                    and (t_parent_parent.deletion = 'tombstone')))))
    and not exists (select 1
      from held_removals h
      where h.env_id = @env
        and h.stream = 'latest_test_executions'
        and h.key_1 = t."sub_test_unique_id");

select count(*)
  from (
      select 1
      from "latest_test_executions" t
      where t.env_id = @env
        and true
        and not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'latest_test_executions'
            and h.key_1 = t."sub_test_unique_id")
        and not ((t."sub_test_unique_id") in (select m.key_1
              from missing_keys m
              where m.env_id = @env
                and m.stream = 'latest_test_executions')
            and not exists (select 1
              from seen_keys s
              where s.env_id = @env
                and s.stream = 'latest_test_executions'
                and s.key_1 = t."sub_test_unique_id")
            and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
            and not exists (select 1
              from marks w
              where w.env_id = @env
                and w.stream = 'latest_test_executions'
                and w.id = t."sub_test_unique_id"
                and not coalesce(w.left_by_run, 0) < @run)
            and (exists (select 1
                  from "tests" t_parent
                  where t_parent.env_id = @env
                    and t_parent.id = t."test_id"
                    and (t_parent.deletion = 'tombstone' or exists (select 1
                          from "assets" t_parent_parent
                          where t_parent_parent.env_id = @env
                            and t_parent_parent.id = t_parent."asset_id"
                            and (t_parent_parent.deletion = 'tombstone'))))))
      limit @limit) enough;

delete from "latest_test_executions" as t
  where t.env_id = @env
    and (t."sub_test_unique_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'latest_test_executions')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'latest_test_executions'
        and s.key_1 = t."sub_test_unique_id")
    and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions'
        and w.id = t."sub_test_unique_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and ((exists (select 1
              from "tests" t_parent
              where t_parent.env_id = @env
                and t_parent.id = t."test_id"
                and (t_parent.deletion = 'tombstone' or exists (select 1
                      from "assets" t_parent_parent
                      where t_parent_parent.env_id = @env
                        and t_parent_parent.id = t_parent."asset_id"
                        and (t_parent_parent.deletion = 'tombstone'))))) or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'latest_test_executions'
            and h.key_1 = t."sub_test_unique_id"));

update mirror_environments set rows_removed_at = mirrored_at where env_id = @env;

insert into "latest_test_executions" ("env_id", "sub_test_unique_id", "id", "test_id", "sub_type", "status",
    "failure_count", "start_time", "duration_seconds", "column_name", "quality_dimension", "result_reason", "exception",
    "description", "synced_at", "mirrored_at", "extra")
  select s."env_id", s."sub_test_unique_id", s."id", s."test_id", s."sub_type", s."status", s."failure_count",
      s."start_time", s."duration_seconds", s."column_name", s."quality_dimension", s."result_reason", s."exception",
      s."description", s."synced_at", @mirroredAt, s."extra"
  from (select *, max(g.rowid)
      from "latest_test_executions_staged" g
      where g.env_id = @env
        and true
      group by g."env_id", g."sub_test_unique_id") s
  left join "latest_test_executions" t on t.env_id = @env
    and t."sub_test_unique_id" = s."sub_test_unique_id"
  where (t."sub_test_unique_id" is null or t."id" is distinct from s."id" or t."test_id" is distinct from s."test_id" or t."sub_type" is distinct from s."sub_type" or t."status" is distinct from s."status" or t."failure_count" is distinct from s."failure_count" or t."start_time" is distinct from s."start_time" or t."duration_seconds" is distinct from s."duration_seconds" or t."column_name" is distinct from s."column_name" or t."quality_dimension" is distinct from s."quality_dimension" or t."result_reason" is distinct from s."result_reason" or t."exception" is distinct from s."exception" or t."description" is distinct from s."description" or t."synced_at" is distinct from s."synced_at" or (t."extra" is distinct from s."extra"
            and not same_json(t."extra", s."extra")))
    and true
  on conflict ("env_id", "sub_test_unique_id") do update
  set "id" = excluded."id", "test_id" = excluded."test_id", "sub_type" = excluded."sub_type",
      "status" = excluded."status", "failure_count" = excluded."failure_count", "start_time" = excluded."start_time",
      "duration_seconds" = excluded."duration_seconds", "column_name" = excluded."column_name",
      "quality_dimension" = excluded."quality_dimension", "result_reason" = excluded."result_reason",
      "exception" = excluded."exception", "description" = excluded."description", "synced_at" = excluded."synced_at",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'latest_test_executions'
    and not exists (select 1
      from "latest_test_executions" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'latest_test_executions'
        and h.key_1 = t."sub_test_unique_id"
        and true
        and (not (true) or ((t."sub_test_unique_id") in (select m.key_1
                  from missing_keys m
                  where m.env_id = @env
                    and m.stream = 'latest_test_executions')
                and not exists (select 1
                  from seen_keys s
                  where s.env_id = @env
                    and s.stream = 'latest_test_executions'
                    and s.key_1 = t."sub_test_unique_id")
                and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
                and not exists (select 1
                  from marks w
                  where w.env_id = @env
                    and w.stream = 'latest_test_executions'
                    and w.id = t."sub_test_unique_id"
                    and not coalesce(w.left_by_run, 0) < @run))));

delete from missing_keys as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from missing_found as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from marks as m
  where m.env_id = @env
    and m.stream = 'latest_test_executions'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'latest_test_executions'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'latest_test_executions' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'latest_test_executions';

delete from seen_keys as s where s.env_id = @env and s.stream = 'latest_test_executions';

delete from seen_through as s where s.env_id = @env and s.stream = 'latest_test_executions';


-- a replacement of the table that is held back

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'latest_test_executions') last,
    (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') is_loaded, exists (select 1
      from "latest_test_executions_staged" w
      where w.env_id = @env) has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') has_marks, (select returned_count
      from mirror_environments
      where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'latest_test_executions'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'latest_test_executions', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

insert into missing_found values (@env, 'latest_test_executions') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'latest_test_executions', t."sub_test_unique_id", ''
  from "latest_test_executions" t
  where t.env_id = @env
    and case when exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'latest_test_executions'
        and s.key_1 = t."sub_test_unique_id") then false else true end
  order by t."sub_test_unique_id"
  on conflict do nothing;

select count(*)
  from "latest_test_executions" t
  where t.env_id = @env
    and true
    and (t."sub_test_unique_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'latest_test_executions')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'latest_test_executions'
        and s.key_1 = t."sub_test_unique_id")
    and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions'
        and w.id = t."sub_test_unique_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and not (exists (select 1
          from "tests" t_parent
          where t_parent.env_id = @env
            and t_parent.id = t."test_id"
            and (t_parent.deletion = 'tombstone' or exists (select 1
                  from "assets" t_parent_parent
                  where t_parent_parent.env_id = @env
                    and t_parent_parent.id = t_parent."asset_id"
                    and (t_parent_parent.deletion = 'tombstone')))))
    and not exists (select 1
      from held_removals h
      where h.env_id = @env
        and h.stream = 'latest_test_executions'
        and h.key_1 = t."sub_test_unique_id");

select count(*)
  from (
      select 1
      from "latest_test_executions" t
      where t.env_id = @env
        and true
        and not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'latest_test_executions'
            and h.key_1 = t."sub_test_unique_id")
        and not ((t."sub_test_unique_id") in (select m.key_1
              from missing_keys m
              where m.env_id = @env
                and m.stream = 'latest_test_executions')
            and not exists (select 1
              from seen_keys s
              where s.env_id = @env
                and s.stream = 'latest_test_executions'
                and s.key_1 = t."sub_test_unique_id")
            and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
            and not exists (select 1
              from marks w
              where w.env_id = @env
                and w.stream = 'latest_test_executions'
                and w.id = t."sub_test_unique_id"
                and not coalesce(w.left_by_run, 0) < @run)
            and (exists (select 1
                  from "tests" t_parent
                  where t_parent.env_id = @env
                    and t_parent.id = t."test_id"
                    and (t_parent.deletion = 'tombstone' or exists (select 1
                          from "assets" t_parent_parent
                          where t_parent_parent.env_id = @env
                            and t_parent_parent.id = t_parent."asset_id"
                            and (t_parent_parent.deletion = 'tombstone'))))))
      limit @limit) enough;

insert into held_removals (env_id, stream, key_1, key_2, absent_at)
  select t.env_id, 'latest_test_executions', t."sub_test_unique_id", '', @at
  from "latest_test_executions" t
  where t.env_id = @env
    and true
    and (t."sub_test_unique_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'latest_test_executions')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'latest_test_executions'
        and s.key_1 = t."sub_test_unique_id")
    and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions'
        and w.id = t."sub_test_unique_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and not (exists (select 1
          from "tests" t_parent
          where t_parent.env_id = @env
            and t_parent.id = t."test_id"
            and (t_parent.deletion = 'tombstone' or exists (select 1
                  from "assets" t_parent_parent
                  where t_parent_parent.env_id = @env
                    and t_parent_parent.id = t_parent."asset_id"
                    and (t_parent_parent.deletion = 'tombstone')))))
  on conflict (env_id, stream, key_1, key_2) do update
  set absent_at = excluded.absent_at;

delete from "latest_test_executions" as t
  where t.env_id = @env
    and (t."sub_test_unique_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'latest_test_executions')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'latest_test_executions'
        and s.key_1 = t."sub_test_unique_id")
    and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions'
        and w.id = t."sub_test_unique_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and ((exists (select 1
              from "tests" t_parent
              where t_parent.env_id = @env
                and t_parent.id = t."test_id"
                and (t_parent.deletion = 'tombstone' or exists (select 1
                      from "assets" t_parent_parent
                      where t_parent_parent.env_id = @env
                        and t_parent_parent.id = t_parent."asset_id"
                        and (t_parent_parent.deletion = 'tombstone'))))) or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'latest_test_executions'
            and h.key_1 = t."sub_test_unique_id"));

insert into "latest_test_executions" ("env_id", "sub_test_unique_id", "id", "test_id", "sub_type", "status",
    "failure_count", "start_time", "duration_seconds", "column_name", "quality_dimension", "result_reason", "exception",
    "description", "synced_at", "mirrored_at", "extra")
  select s."env_id", s."sub_test_unique_id", s."id", s."test_id", s."sub_type", s."status", s."failure_count",
      s."start_time", s."duration_seconds", s."column_name", s."quality_dimension", s."result_reason", s."exception",
      s."description", s."synced_at", @mirroredAt, s."extra"
  from (select *, max(g.rowid)
      from "latest_test_executions_staged" g
      where g.env_id = @env
        and true
      group by g."env_id", g."sub_test_unique_id") s
  left join "latest_test_executions" t on t.env_id = @env
    and t."sub_test_unique_id" = s."sub_test_unique_id"
  where (t."sub_test_unique_id" is null or t."id" is distinct from s."id" or t."test_id" is distinct from s."test_id" or t."sub_type" is distinct from s."sub_type" or t."status" is distinct from s."status" or t."failure_count" is distinct from s."failure_count" or t."start_time" is distinct from s."start_time" or t."duration_seconds" is distinct from s."duration_seconds" or t."column_name" is distinct from s."column_name" or t."quality_dimension" is distinct from s."quality_dimension" or t."result_reason" is distinct from s."result_reason" or t."exception" is distinct from s."exception" or t."description" is distinct from s."description" or t."synced_at" is distinct from s."synced_at" or (t."extra" is distinct from s."extra"
            and not same_json(t."extra", s."extra")))
    and true
  on conflict ("env_id", "sub_test_unique_id") do update
  set "id" = excluded."id", "test_id" = excluded."test_id", "sub_type" = excluded."sub_type",
      "status" = excluded."status", "failure_count" = excluded."failure_count", "start_time" = excluded."start_time",
      "duration_seconds" = excluded."duration_seconds", "column_name" = excluded."column_name",
      "quality_dimension" = excluded."quality_dimension", "result_reason" = excluded."result_reason",
      "exception" = excluded."exception", "description" = excluded."description", "synced_at" = excluded."synced_at",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'latest_test_executions'
    and not exists (select 1
      from "latest_test_executions" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'latest_test_executions'
        and h.key_1 = t."sub_test_unique_id"
        and true
        and (not (true) or ((t."sub_test_unique_id") in (select m.key_1
                  from missing_keys m
                  where m.env_id = @env
                    and m.stream = 'latest_test_executions')
                and not exists (select 1
                  from seen_keys s
                  where s.env_id = @env
                    and s.stream = 'latest_test_executions'
                    and s.key_1 = t."sub_test_unique_id")
                and (cast(@through as text) is null or t."sub_test_unique_id" <= @through)
                and not exists (select 1
                  from marks w
                  where w.env_id = @env
                    and w.stream = 'latest_test_executions'
                    and w.id = t."sub_test_unique_id"
                    and not coalesce(w.left_by_run, 0) < @run))));

delete from missing_keys as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from missing_found as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from marks as m
  where m.env_id = @env
    and m.stream = 'latest_test_executions'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'latest_test_executions'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'latest_test_executions' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'latest_test_executions';

delete from seen_keys as s where s.env_id = @env and s.stream = 'latest_test_executions';

delete from seen_through as s where s.env_id = @env and s.stream = 'latest_test_executions';


-- rows whose removal is held back are marked

select distinct h.key_1 from held_removals h where h.env_id = @env and h.stream = 'latest_test_executions' order by 1;

select last_mark from mirror_environments where env_id = @env;

insert into "marks" ("env_id", "stream", "id", "number", "left_by_run")
  values (:env_id, ?, ?, ?, ?)
  on conflict ("env_id", "stream", "id") do update
  set "number" = excluded."number", "left_by_run" = excluded."left_by_run";

update mirror_environments set last_mark = @last where env_id = @env;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;


-- removals that were held back are applied

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'latest_test_executions') last,
    (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') is_loaded, exists (select 1
      from "latest_test_executions_staged" w
      where w.env_id = @env) has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'latest_test_executions') has_marks, (select returned_count
      from mirror_environments
      where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'latest_test_executions'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'latest_test_executions', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

select max(h.absent_at)
  from held_removals as h
  where h.env_id = @env
    and h.stream = 'latest_test_executions'
    and (cast(@through as text) is null or h.key_1 <= @through);

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'latest_test_executions'
    and (cast(@through as text) is null or h.key_1 <= @through);

delete from marks as m
  where m.env_id = @env
    and m.stream = 'latest_test_executions'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'latest_test_executions'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from seen_pages as p where p.env_id = @env and p.stream = 'latest_test_executions';

delete from missing_keys as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from missing_found as m where m.env_id = @env and m.stream = 'latest_test_executions';

delete from seen_keys as s where s.env_id = @env and s.stream = 'latest_test_executions';

delete from seen_through as s where s.env_id = @env and s.stream = 'latest_test_executions';
