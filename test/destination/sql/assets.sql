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


-- rows that a page shows new or changed

insert into "assets" ("env_id", "id", "name", "kind", "source_type", "data_platform", "db_name", "schema_name",
    "table_name", "materialization", "bi_platform", "bi_type", "url", "description", "owners", "tags", "parent_id",
    "path", "created_at", "updated_at", "synced_at", "deleted_at", "deletion", "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "id") do update
  set "name" = excluded."name", "kind" = excluded."kind", "source_type" = excluded."source_type",
      "data_platform" = excluded."data_platform", "db_name" = excluded."db_name", "schema_name" = excluded."schema_name",
      "table_name" = excluded."table_name", "materialization" = excluded."materialization",
      "bi_platform" = excluded."bi_platform", "bi_type" = excluded."bi_type", "url" = excluded."url",
      "description" = excluded."description", "owners" = excluded."owners", "tags" = excluded."tags",
      "parent_id" = excluded."parent_id", "path" = excluded."path", "created_at" = excluded."created_at",
      "updated_at" = excluded."updated_at", "synced_at" = excluded."synced_at", "deleted_at" = excluded."deleted_at",
      "deletion" = excluded."deletion", "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';


-- rows that a page shows deleted

insert into "assets" ("env_id", "id", "name", "kind", "source_type", "data_platform", "db_name", "schema_name",
    "table_name", "materialization", "bi_platform", "bi_type", "url", "description", "owners", "tags", "parent_id",
    "path", "created_at", "updated_at", "synced_at", "deleted_at", "deletion", "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "id") do update
  set "name" = excluded."name", "kind" = excluded."kind", "source_type" = excluded."source_type",
      "data_platform" = excluded."data_platform", "db_name" = excluded."db_name", "schema_name" = excluded."schema_name",
      "table_name" = excluded."table_name", "materialization" = excluded."materialization",
      "bi_platform" = excluded."bi_platform", "bi_type" = excluded."bi_type", "url" = excluded."url",
      "description" = excluded."description", "owners" = excluded."owners", "tags" = excluded."tags",
      "parent_id" = excluded."parent_id", "path" = excluded."path", "created_at" = excluded."created_at",
      "updated_at" = excluded."updated_at", "synced_at" = excluded."synced_at", "deleted_at" = excluded."deleted_at",
      "deletion" = excluded."deletion", "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

insert into stale_health_days (env_id, day)
  select distinct h.env_id, substr(h.bucket_at, 1, 10)
  from asset_health_score_history h
  where h.env_id = @env
    and h.asset_id = @assetId
  on conflict do nothing;

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';


-- keys that a read has shown

insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys);


-- rows that are back: rejected no more, held back no more

select exists (select 1 from rejected_rows as x where x.env_id = @env and x.stream = 'assets') rejected_rows,
    exists (select 1
      from held_removals as x
      where x.env_id = @env
        and x.stream = 'assets') held_removals;

delete from rejected_rows as x
  where x.env_id = @env
    and x.stream = 'assets'
    and x.row_key in (select value from json_each(@joined));

delete from held_removals as x
  where x.env_id = @env
    and x.stream = 'assets'
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
    and r.stream = 'assets'
    and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1 from "assets" t where t.env_id = @env and t."id" = r.row_key and t.deleted_at is null);


-- new marks

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


-- what one read saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'assets' and p.read_number = @which;

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'assets';


-- what a round saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'assets';


-- a sweep

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'assets') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'assets') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'assets') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'assets') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'assets') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'assets') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'assets'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'assets', @last) on conflict (env_id, stream) do update set page = excluded.page;

insert into missing_found values (@env, 'assets') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'assets', t."id", ''
  from "assets" t
  where t.env_id = @env
    and case when exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id") then false else t.deleted_at is null end
  order by t."id"
  on conflict do nothing;

select count(*)
  from "assets" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not false
    and not exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'assets' and h.key_1 = t."id");

select t."id", t."name", t."kind", t."source_type", t."data_platform", t."db_name", t."schema_name", t."table_name",
    t."materialization", t."bi_platform", t."bi_type", t."url", t."description", t."owners", t."tags", t."parent_id",
    t."path", t."created_at", t."updated_at", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "assets" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and (false or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'assets'
            and h.key_1 = t."id"))
  order by t.id
  limit 2000;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'assets'
    and not exists (select 1
      from "assets" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'assets'
        and h.key_1 = t."id"
        and t.deleted_at is null
        and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
        and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id"));

delete from marks as m
  where m.env_id = @env
    and m.stream = 'assets'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'assets' and coalesce(m.left_by_run, 0) < @run limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'assets' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'assets';


-- a sweep that is held back

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'assets') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'assets') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'assets') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'assets') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'assets') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'assets') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'assets'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'assets', @last) on conflict (env_id, stream) do update set page = excluded.page;

insert into missing_found values (@env, 'assets') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'assets', t."id", ''
  from "assets" t
  where t.env_id = @env
    and case when exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id") then false else t.deleted_at is null end
  order by t."id"
  on conflict do nothing;

select count(*)
  from "assets" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not false
    and not exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'assets' and h.key_1 = t."id");

insert into held_removals (env_id, stream, key_1, key_2, absent_at)
  select t.env_id, 'assets', t."id", '', @at
  from "assets" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not false
  on conflict (env_id, stream, key_1, key_2) do update
  set absent_at = excluded.absent_at;

select t."id", t."name", t."kind", t."source_type", t."data_platform", t."db_name", t."schema_name", t."table_name",
    t."materialization", t."bi_platform", t."bi_type", t."url", t."description", t."owners", t."tags", t."parent_id",
    t."path", t."created_at", t."updated_at", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "assets" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and (false or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'assets'
            and h.key_1 = t."id"))
  order by t.id
  limit 2000;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'assets'
    and not exists (select 1
      from "assets" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'assets'
        and h.key_1 = t."id"
        and t.deleted_at is null
        and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
        and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id"));

delete from marks as m
  where m.env_id = @env
    and m.stream = 'assets'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'assets' and coalesce(m.left_by_run, 0) < @run limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'assets' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'assets';


-- a sweep that another scan follows

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'assets') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'assets') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'assets') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'assets') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'assets') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'assets') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'assets'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'assets', @last) on conflict (env_id, stream) do update set page = excluded.page;

insert into missing_found values (@env, 'assets') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'assets', t."id", ''
  from "assets" t
  where t.env_id = @env
    and case when exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id") then false else t.deleted_at is null end
  order by t."id"
  on conflict do nothing;

select count(*)
  from "assets" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not false
    and not exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'assets' and h.key_1 = t."id");

select t."id", t."name", t."kind", t."source_type", t."data_platform", t."db_name", t."schema_name", t."table_name",
    t."materialization", t."bi_platform", t."bi_type", t."url", t."description", t."owners", t."tags", t."parent_id",
    t."path", t."created_at", t."updated_at", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "assets" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and (false or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'assets'
            and h.key_1 = t."id"))
  order by t.id
  limit 2000;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'assets'
    and not exists (select 1
      from "assets" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'assets'
        and h.key_1 = t."id"
        and t.deleted_at is null
        and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'assets')
        and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'assets' and s.key_1 = t."id"));

delete from marks as m
  where m.env_id = @env
    and m.stream = 'assets'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'assets' and coalesce(m.left_by_run, 0) < @run limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'assets' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'assets' and p.read_number < @from;

update seen_pages as p set read_number = 0 where p.env_id = @env and p.stream = 'assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'assets';


-- rows whose removal is held back are marked

select distinct h.key_1 from held_removals h where h.env_id = @env and h.stream = 'assets' order by 1;

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

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'assets') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'assets') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'assets') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'assets') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'assets') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'assets') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'assets'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'assets', @last) on conflict (env_id, stream) do update set page = excluded.page;

select max(h.absent_at)
  from held_removals as h
  where h.env_id = @env
    and h.stream = 'assets'
    and (cast(@through as text) is null or h.key_1 <= @through);

select t."id", t."name", t."kind", t."source_type", t."data_platform", t."db_name", t."schema_name", t."table_name",
    t."materialization", t."bi_platform", t."bi_type", t."url", t."description", t."owners", t."tags", t."parent_id",
    t."path", t."created_at", t."updated_at", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "assets" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'assets' and h.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
  order by t.id
  limit 2000;

insert into "assets" ("env_id", "id", "name", "kind", "source_type", "data_platform", "db_name", "schema_name",
    "table_name", "materialization", "bi_platform", "bi_type", "url", "description", "owners", "tags", "parent_id",
    "path", "created_at", "updated_at", "synced_at", "deleted_at", "deletion", "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "id") do update
  set "name" = excluded."name", "kind" = excluded."kind", "source_type" = excluded."source_type",
      "data_platform" = excluded."data_platform", "db_name" = excluded."db_name", "schema_name" = excluded."schema_name",
      "table_name" = excluded."table_name", "materialization" = excluded."materialization",
      "bi_platform" = excluded."bi_platform", "bi_type" = excluded."bi_type", "url" = excluded."url",
      "description" = excluded."description", "owners" = excluded."owners", "tags" = excluded."tags",
      "parent_id" = excluded."parent_id", "path" = excluded."path", "created_at" = excluded."created_at",
      "updated_at" = excluded."updated_at", "synced_at" = excluded."synced_at", "deleted_at" = excluded."deleted_at",
      "deletion" = excluded."deletion", "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

delete from "asset_health_scores" where env_id = @env and "asset_id" in (select value from json_each(@ids));

delete from "asset_health_score_dimensions" where env_id = @env and "asset_id" in (select value from json_each(@ids));

update mirror_environments set rows_removed_at = mirrored_at where env_id = @env;

insert into stale_health_days (env_id, day)
  select distinct h.env_id, substr(h.bucket_at, 1, 10)
  from asset_health_score_history h
  where h.env_id = @env
    and h.asset_id = @assetId
  on conflict do nothing;

select last_mark from mirror_environments where env_id = @env;

insert into "marks" ("env_id", "stream", "id", "number", "left_by_run")
  values (:env_id, ?, ?, ?, ?), (:env_id, ?, ?, ?, ?)
  on conflict ("env_id", "stream", "id") do update
  set "number" = excluded."number", "left_by_run" = excluded."left_by_run";

update mirror_environments set last_mark = @last where env_id = @env;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'assets'
    and (cast(@through as text) is null or h.key_1 <= @through);

delete from marks as m
  where m.env_id = @env
    and m.stream = 'assets'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'assets' and coalesce(m.left_by_run, 0) < @run limit 1;

delete from seen_pages as p where p.env_id = @env and p.stream = 'assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'assets';
