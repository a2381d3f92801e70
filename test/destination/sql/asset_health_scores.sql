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
  from "asset_health_scores"
  where env_id = @env
    and "asset_id" >= (select min(value) from json_each(@keys))
  limit 1;

select t."asset_id", t."score", t."test_count", t."bucket_at", t."extra"
  from "asset_health_scores" t
  where t.env_id = @env
    and t."asset_id" in (select value from json_each(@keys));

select "asset_id", "dimension", "score", "test_count", "bucket_at", "extra"
  from "asset_health_score_dimensions"
  where env_id = @env
    and "asset_id" in (select value from json_each(@ids));

select exists (select 1 from staged_loaded b where b.env_id = @env and b.stream = 'asset_health_scores') is_loaded,
    exists (select 1
      from staged_keys g
      where g.env_id = @env
        and g.stream = 'asset_health_scores') has_keys, exists (select 1
      from "asset_health_scores_staged" s
      where s.env_id = @env) has_rows;

insert into staged_loaded values (@env, 'asset_health_scores');

insert into staged_keys
  select s.env_id, 'asset_health_scores', s."asset_id", ''
  from "asset_health_scores_staged" s
  where s.env_id = @env
  on conflict do nothing;

insert into staged_keys
  select c.env_id, 'asset_health_scores', value ->> 0, value ->> 1
  from mirror_environments c
  cross join json_each(@keys)
  where c.env_id = @env
  on conflict do nothing;

insert into "asset_health_scores_staged" ("env_id", "asset_id", "score", "test_count", "bucket_at", "extra",
    "read_number")
  values (:env_id, ?, ?, ?, ?, ?, :read_number);

insert into "asset_health_score_dimensions_staged" ("env_id", "asset_id", "dimension", "score", "test_count",
    "bucket_at", "extra", "read_number")
  values (:env_id, ?, ?, ?, ?, ?, ?, :read_number);

insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys);


-- rows that are kept for ever

insert into "asset_health_score_history" ("env_id", "asset_id", "dimension", "score", "test_count", "bucket_at",
    "mirrored_at", "extra")
  values (:env_id, ?, :dimension, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "asset_id", "dimension", "bucket_at") do update
  set "score" = excluded."score", "test_count" = excluded."test_count", "mirrored_at" = excluded."mirrored_at",
      "extra" = excluded."extra"
  where ("asset_health_score_history"."score" is distinct from excluded."score" or "asset_health_score_history"."test_count" is distinct from excluded."test_count" or ("asset_health_score_history"."extra" is distinct from excluded."extra"
            and not same_json("asset_health_score_history"."extra", excluded."extra")));

insert into "asset_health_score_history" ("env_id", "asset_id", "dimension", "score", "test_count", "bucket_at",
    "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "asset_id", "dimension", "bucket_at") do update
  set "score" = excluded."score", "test_count" = excluded."test_count", "mirrored_at" = excluded."mirrored_at",
      "extra" = excluded."extra"
  where ("asset_health_score_history"."score" is distinct from excluded."score" or "asset_health_score_history"."test_count" is distinct from excluded."test_count" or ("asset_health_score_history"."extra" is distinct from excluded."extra"
            and not same_json("asset_health_score_history"."extra", excluded."extra")));

insert into "stale_health_days" ("env_id", "day") values (:env_id, ?) on conflict do nothing;


-- keys that a read has shown

insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys);


-- rows that are back: rejected no more, held back no more

select exists (select 1 from rejected_rows as x where x.env_id = @env and x.stream = 'asset_health_scores') rejected_rows, exists (select 1
      from held_removals as x
      where x.env_id = @env
        and x.stream = 'asset_health_scores') held_removals;

delete from rejected_rows as x
  where x.env_id = @env
    and x.stream = 'asset_health_scores'
    and x.row_key in (select value from json_each(@joined));

delete from held_removals as x
  where x.env_id = @env
    and x.stream = 'asset_health_scores'
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
    and r.stream = 'asset_health_scores'
    and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1 from "asset_health_scores" t where t.env_id = @env and t."asset_id" = r.row_key and true);


-- what one read saw and gathered is dropped

delete from "asset_health_scores_staged" as x where x.env_id = @env and x.read_number = @which;

delete from "asset_health_score_dimensions_staged" as x where x.env_id = @env and x.read_number = @which;

delete from staged_keys as g where g.env_id = @env and g.stream = 'asset_health_scores';

delete from staged_loaded as g where g.env_id = @env and g.stream = 'asset_health_scores';

delete from seen_pages as p where p.env_id = @env and p.stream = 'asset_health_scores' and p.read_number = @which;

delete from missing_keys as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from missing_found as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from seen_keys as s where s.env_id = @env and s.stream = 'asset_health_scores';

delete from seen_through as s where s.env_id = @env and s.stream = 'asset_health_scores';


-- what a round saw and gathered is dropped

delete from "asset_health_scores_staged" as x where x.env_id = @env;

delete from "asset_health_score_dimensions_staged" as x where x.env_id = @env;

delete from staged_keys as g where g.env_id = @env and g.stream = 'asset_health_scores';

delete from staged_loaded as g where g.env_id = @env and g.stream = 'asset_health_scores';

delete from seen_pages as p where p.env_id = @env and p.stream = 'asset_health_scores';

delete from missing_keys as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from missing_found as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from seen_keys as s where s.env_id = @env and s.stream = 'asset_health_scores';

delete from seen_through as s where s.env_id = @env and s.stream = 'asset_health_scores';


-- a replacement of the table

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'asset_health_scores') last,
    (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') is_loaded, exists (select 1
      from "asset_health_scores_staged" w
      where w.env_id = @env) has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') has_marks, (select returned_count
      from mirror_environments
      where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'asset_health_scores'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'asset_health_scores', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

insert into missing_found values (@env, 'asset_health_scores') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'asset_health_scores', t."asset_id", ''
  from "asset_health_scores" t
  where t.env_id = @env
    and case when exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id") then false else true end
  order by t."asset_id"
  on conflict do nothing;

insert into missing_keys
  select t.env_id, 'asset_health_scores', t."asset_id", ''
  from "asset_health_score_dimensions" t
  where t.env_id = @env
    and case when exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id") then false else true end
  order by t."asset_id"
  on conflict do nothing;

select count(*)
  from "asset_health_scores" t
  where t.env_id = @env
    and true
    and (t."asset_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'asset_health_scores')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id")
    and (cast(@through as text) is null or t."asset_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores'
        and w.id = t."asset_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and not false
    and not exists (select 1
      from held_removals h
      where h.env_id = @env
        and h.stream = 'asset_health_scores'
        and h.key_1 = t."asset_id");

delete from "asset_health_scores" as t
  where t.env_id = @env
    and (t."asset_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'asset_health_scores')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id")
    and (cast(@through as text) is null or t."asset_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores'
        and w.id = t."asset_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and (false or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'asset_health_scores'
            and h.key_1 = t."asset_id"));

delete from "asset_health_score_dimensions" as t
  where t.env_id = @env
    and (((t."asset_id") in (select m.key_1
              from missing_keys m
              where m.env_id = @env
                and m.stream = 'asset_health_scores')
            and not exists (select 1
              from seen_keys s
              where s.env_id = @env
                and s.stream = 'asset_health_scores'
                and s.key_1 = t."asset_id")) or t."asset_id" in (select s."asset_id"
          from "asset_health_scores_staged" s
          where s.env_id = @env))
    and not (t."asset_id", t."dimension") in (select s."asset_id", s."dimension"
      from "asset_health_score_dimensions_staged" s
      where s.env_id = @env);

update mirror_environments set rows_removed_at = mirrored_at where env_id = @env;

insert into "asset_health_scores" ("env_id", "asset_id", "score", "test_count", "bucket_at", "mirrored_at", "extra")
  select s."env_id", s."asset_id", s."score", s."test_count", s."bucket_at", @mirroredAt, s."extra"
  from (select *, max(g.rowid)
      from "asset_health_scores_staged" g
      where g.env_id = @env
        and true
      group by g."env_id", g."asset_id") s
  left join "asset_health_scores" t on t.env_id = @env
    and t."asset_id" = s."asset_id"
  where (t."asset_id" is null or t."score" is distinct from s."score" or t."test_count" is distinct from s."test_count" or t."bucket_at" is distinct from s."bucket_at" or (t."extra" is distinct from s."extra"
            and not same_json(t."extra", s."extra")))
    and true
  on conflict ("env_id", "asset_id") do update
  set "score" = excluded."score", "test_count" = excluded."test_count", "bucket_at" = excluded."bucket_at",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

insert into "asset_health_score_dimensions" ("env_id", "asset_id", "dimension", "score", "test_count", "bucket_at",
    "mirrored_at", "extra")
  select s."env_id", s."asset_id", s."dimension", s."score", s."test_count", s."bucket_at", @mirroredAt, s."extra"
  from (select *, max(g.rowid)
      from "asset_health_score_dimensions_staged" g
      where g.env_id = @env
        and true
      group by g."env_id", g."asset_id", g."dimension") s
  left join "asset_health_score_dimensions" t on t.env_id = @env
    and t."asset_id" = s."asset_id"
    and t."dimension" = s."dimension"
  where (t."asset_id" is null or t."score" is distinct from s."score" or t."test_count" is distinct from s."test_count" or t."bucket_at" is distinct from s."bucket_at" or (t."extra" is distinct from s."extra"
            and not same_json(t."extra", s."extra")))
    and true
  on conflict ("env_id", "asset_id", "dimension") do update
  set "score" = excluded."score", "test_count" = excluded."test_count", "bucket_at" = excluded."bucket_at",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'asset_health_scores'
    and not exists (select 1
      from "asset_health_scores" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'asset_health_scores'
        and h.key_1 = t."asset_id"
        and true
        and (not (true) or ((t."asset_id") in (select m.key_1
                  from missing_keys m
                  where m.env_id = @env
                    and m.stream = 'asset_health_scores')
                and not exists (select 1
                  from seen_keys s
                  where s.env_id = @env
                    and s.stream = 'asset_health_scores'
                    and s.key_1 = t."asset_id")
                and (cast(@through as text) is null or t."asset_id" <= @through)
                and not exists (select 1
                  from marks w
                  where w.env_id = @env
                    and w.stream = 'asset_health_scores'
                    and w.id = t."asset_id"
                    and not coalesce(w.left_by_run, 0) < @run))));

delete from missing_keys as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from missing_found as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from marks as m
  where m.env_id = @env
    and m.stream = 'asset_health_scores'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'asset_health_scores'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'asset_health_scores' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'asset_health_scores';

delete from seen_keys as s where s.env_id = @env and s.stream = 'asset_health_scores';

delete from seen_through as s where s.env_id = @env and s.stream = 'asset_health_scores';


-- a replacement of the table that is held back

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'asset_health_scores') last,
    (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') is_loaded, exists (select 1
      from "asset_health_scores_staged" w
      where w.env_id = @env) has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') has_marks, (select returned_count
      from mirror_environments
      where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'asset_health_scores'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'asset_health_scores', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

insert into missing_found values (@env, 'asset_health_scores') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'asset_health_scores', t."asset_id", ''
  from "asset_health_scores" t
  where t.env_id = @env
    and case when exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id") then false else true end
  order by t."asset_id"
  on conflict do nothing;

insert into missing_keys
  select t.env_id, 'asset_health_scores', t."asset_id", ''
  from "asset_health_score_dimensions" t
  where t.env_id = @env
    and case when exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id") then false else true end
  order by t."asset_id"
  on conflict do nothing;

select count(*)
  from "asset_health_scores" t
  where t.env_id = @env
    and true
    and (t."asset_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'asset_health_scores')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id")
    and (cast(@through as text) is null or t."asset_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores'
        and w.id = t."asset_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and not false
    and not exists (select 1
      from held_removals h
      where h.env_id = @env
        and h.stream = 'asset_health_scores'
        and h.key_1 = t."asset_id");

insert into held_removals (env_id, stream, key_1, key_2, absent_at)
  select t.env_id, 'asset_health_scores', t."asset_id", '', @at
  from "asset_health_scores" t
  where t.env_id = @env
    and true
    and (t."asset_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'asset_health_scores')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id")
    and (cast(@through as text) is null or t."asset_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores'
        and w.id = t."asset_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and not false
  on conflict (env_id, stream, key_1, key_2) do update
  set absent_at = excluded.absent_at;

delete from "asset_health_scores" as t
  where t.env_id = @env
    and (t."asset_id") in (select m.key_1
      from missing_keys m
      where m.env_id = @env
        and m.stream = 'asset_health_scores')
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'asset_health_scores'
        and s.key_1 = t."asset_id")
    and (cast(@through as text) is null or t."asset_id" <= @through)
    and not exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores'
        and w.id = t."asset_id"
        and not coalesce(w.left_by_run, 0) < @run)
    and (false or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'asset_health_scores'
            and h.key_1 = t."asset_id"));

delete from "asset_health_score_dimensions" as t
  where t.env_id = @env
    and (((t."asset_id") in (select m.key_1
              from missing_keys m
              where m.env_id = @env
                and m.stream = 'asset_health_scores')
            and not exists (select 1
              from seen_keys s
              where s.env_id = @env
                and s.stream = 'asset_health_scores'
                and s.key_1 = t."asset_id")) or t."asset_id" in (select s."asset_id"
          from "asset_health_scores_staged" s
          where s.env_id = @env))
    and not (t."asset_id", t."dimension") in (select s."asset_id", s."dimension"
      from "asset_health_score_dimensions_staged" s
      where s.env_id = @env);

update mirror_environments set rows_removed_at = mirrored_at where env_id = @env;

insert into "asset_health_scores" ("env_id", "asset_id", "score", "test_count", "bucket_at", "mirrored_at", "extra")
  select s."env_id", s."asset_id", s."score", s."test_count", s."bucket_at", @mirroredAt, s."extra"
  from (select *, max(g.rowid)
      from "asset_health_scores_staged" g
      where g.env_id = @env
        and true
      group by g."env_id", g."asset_id") s
  left join "asset_health_scores" t on t.env_id = @env
    and t."asset_id" = s."asset_id"
  where (t."asset_id" is null or t."score" is distinct from s."score" or t."test_count" is distinct from s."test_count" or t."bucket_at" is distinct from s."bucket_at" or (t."extra" is distinct from s."extra"
            and not same_json(t."extra", s."extra")))
    and true
  on conflict ("env_id", "asset_id") do update
  set "score" = excluded."score", "test_count" = excluded."test_count", "bucket_at" = excluded."bucket_at",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

insert into "asset_health_score_dimensions" ("env_id", "asset_id", "dimension", "score", "test_count", "bucket_at",
    "mirrored_at", "extra")
  select s."env_id", s."asset_id", s."dimension", s."score", s."test_count", s."bucket_at", @mirroredAt, s."extra"
  from (select *, max(g.rowid)
      from "asset_health_score_dimensions_staged" g
      where g.env_id = @env
        and true
      group by g."env_id", g."asset_id", g."dimension") s
  left join "asset_health_score_dimensions" t on t.env_id = @env
    and t."asset_id" = s."asset_id"
    and t."dimension" = s."dimension"
  where (t."asset_id" is null or t."score" is distinct from s."score" or t."test_count" is distinct from s."test_count" or t."bucket_at" is distinct from s."bucket_at" or (t."extra" is distinct from s."extra"
            and not same_json(t."extra", s."extra")))
    and true
  on conflict ("env_id", "asset_id", "dimension") do update
  set "score" = excluded."score", "test_count" = excluded."test_count", "bucket_at" = excluded."bucket_at",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'asset_health_scores'
    and not exists (select 1
      from "asset_health_scores" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'asset_health_scores'
        and h.key_1 = t."asset_id"
        and true
        and (not (true) or ((t."asset_id") in (select m.key_1
                  from missing_keys m
                  where m.env_id = @env
                    and m.stream = 'asset_health_scores')
                and not exists (select 1
                  from seen_keys s
                  where s.env_id = @env
                    and s.stream = 'asset_health_scores'
                    and s.key_1 = t."asset_id")
                and (cast(@through as text) is null or t."asset_id" <= @through)
                and not exists (select 1
                  from marks w
                  where w.env_id = @env
                    and w.stream = 'asset_health_scores'
                    and w.id = t."asset_id"
                    and not coalesce(w.left_by_run, 0) < @run))));

delete from missing_keys as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from missing_found as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from marks as m
  where m.env_id = @env
    and m.stream = 'asset_health_scores'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'asset_health_scores'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'asset_health_scores' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'asset_health_scores';

delete from seen_keys as s where s.env_id = @env and s.stream = 'asset_health_scores';

delete from seen_through as s where s.env_id = @env and s.stream = 'asset_health_scores';


-- rows whose removal is held back are marked

select distinct h.key_1 from held_removals h where h.env_id = @env and h.stream = 'asset_health_scores' order by 1;

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

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'asset_health_scores') last,
    (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') is_loaded, exists (select 1
      from "asset_health_scores_staged" w
      where w.env_id = @env) has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'asset_health_scores') has_marks, (select returned_count
      from mirror_environments
      where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'asset_health_scores'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'asset_health_scores', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

select max(h.absent_at)
  from held_removals as h
  where h.env_id = @env
    and h.stream = 'asset_health_scores'
    and (cast(@through as text) is null or h.key_1 <= @through);

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'asset_health_scores'
    and (cast(@through as text) is null or h.key_1 <= @through);

delete from marks as m
  where m.env_id = @env
    and m.stream = 'asset_health_scores'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'asset_health_scores'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from seen_pages as p where p.env_id = @env and p.stream = 'asset_health_scores';

delete from missing_keys as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from missing_found as m where m.env_id = @env and m.stream = 'asset_health_scores';

delete from seen_keys as s where s.env_id = @env and s.stream = 'asset_health_scores';

delete from seen_through as s where s.env_id = @env and s.stream = 'asset_health_scores';
