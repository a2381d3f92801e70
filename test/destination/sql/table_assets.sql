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

delete from missing_keys as m where m.env_id = @env and m.stream = 'table_assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'table_assets';


-- keys that a read has shown

insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys);


-- rows that are back: rejected no more, held back no more

select exists (select 1 from rejected_rows as x where x.env_id = @env and x.stream = 'table_assets') rejected_rows,
    exists (select 1
      from held_removals as x
      where x.env_id = @env
        and x.stream = 'table_assets') held_removals;

delete from rejected_rows as x
  where x.env_id = @env
    and x.stream = 'table_assets'
    and x.row_key in (select value from json_each(@joined));

delete from held_removals as x
  where x.env_id = @env
    and x.stream = 'table_assets'
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
    and r.stream = 'table_assets'
    and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1
      from "assets" t
      where t.env_id = @env
        and t."id" = r.row_key
        and t.deleted_at is null
        and t."kind" = 'table');


-- marks that are paid

delete from marks as m
  where m.env_id = @env
    and m.stream = 'table_assets'
    and m.id in (select value from json_each(@ids))
    and m.number <= @lastMark
    and not false;


-- marks that wait for a later run, where there are any

insert into marks (env_id, stream, id, number, left_by_run)
  select env_id, 'table_assets', id, @lastMark, @run
  from (select m.env_id, m.id
      from marks m
      where m.env_id = @env
        and m.stream = 'table_assets'
        and m.id in (select value from json_each(@ids))) waiting
  where true
  on conflict (env_id, stream, id) do update
  set left_by_run = excluded.left_by_run
  where marks.number <= excluded.number;


-- marks that wait for a later run, made where there are none

insert into marks (env_id, stream, id, number, left_by_run)
  select env_id, 'table_assets', id, @lastMark, @run
  from (select c.env_id, value id from mirror_environments c cross join json_each(@ids) where c.env_id = @env) waiting
  where true
  on conflict (env_id, stream, id) do update
  set left_by_run = excluded.left_by_run
  where marks.number <= excluded.number;


-- what one read saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'table_assets' and p.read_number = @which;

delete from missing_keys as m where m.env_id = @env and m.stream = 'table_assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'table_assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'table_assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'table_assets';


-- what a round saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'table_assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'table_assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'table_assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'table_assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'table_assets';


-- the end of a round of marked rows

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'table_assets') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'table_assets') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'table_assets') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'table_assets') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'table_assets') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'table_assets') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'table_assets'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'table_assets', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

insert into marks (env_id, stream, id, number, left_by_run)
  select env_id, 'table_assets', id, @lastMark, @run
  from (select m.env_id, m.id
      from marks m
      cross join "assets" t
      where t.env_id = m.env_id
        and t.id = m.id
        and m.env_id = @env
        and m.stream = 'table_assets'
        and coalesce(m.left_by_run, 0) < @run
        and t.deleted_at is null
        and t."kind" || '' = 'table'
        and m.number <= @lastMark
        and ((t.synced_at is not null and coalesce(t.synced_at > @settledBefore,
            true)) or (t."data_platform" is null or t."db_name" is null or t."schema_name" is null or t."table_name" is null or t."materialization" is null))) waiting
  where true
  on conflict (env_id, stream, id) do update
  set left_by_run = excluded.left_by_run
  where marks.number <= excluded.number;

delete from marks as m
  where m.env_id = @env
    and m.stream = 'table_assets'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'table_assets'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from seen_pages as p where p.env_id = @env and p.stream = 'table_assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'table_assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'table_assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'table_assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'table_assets';


-- the end of a whole read

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'table_assets') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'table_assets') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'table_assets') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'table_assets') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'table_assets') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'table_assets') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'table_assets'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through
  values (@env, 'table_assets', @last)
  on conflict (env_id, stream) do update
  set page = excluded.page;

insert into marks (env_id, stream, id, number, left_by_run)
  select env_id, 'table_assets', id, @lastMark, @run
  from (select m.env_id, m.id
      from marks m
      cross join "assets" t
      where t.env_id = m.env_id
        and t.id = m.id
        and m.env_id = @env
        and m.stream = 'table_assets'
        and coalesce(m.left_by_run, 0) < @run
        and t.deleted_at is null
        and t."kind" || '' = 'table'
        and m.number <= @lastMark
        and ((t.synced_at is not null and coalesce(t.synced_at > @settledBefore,
            true)) or (t."data_platform" is null or t."db_name" is null or t."schema_name" is null or t."table_name" is null or t."materialization" is null)) union
      select t.env_id, t.id
      from "assets" t
      where t.env_id = @env
        and t.deleted_at is null
        and t."kind" = 'table'
        and (t."data_platform" is null or t."db_name" is null or t."schema_name" is null or t."table_name" is null or t."materialization" is null)) waiting
  where true
  on conflict (env_id, stream, id) do update
  set left_by_run = excluded.left_by_run
  where marks.number <= excluded.number;

delete from marks as m
  where m.env_id = @env
    and m.stream = 'table_assets'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1
  from marks as m
  where m.env_id = @env
    and m.stream = 'table_assets'
    and coalesce(m.left_by_run, 0) < @run
  limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'table_assets' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'table_assets';

delete from missing_keys as m where m.env_id = @env and m.stream = 'table_assets';

delete from missing_found as m where m.env_id = @env and m.stream = 'table_assets';

delete from seen_keys as s where s.env_id = @env and s.stream = 'table_assets';

delete from seen_through as s where s.env_id = @env and s.stream = 'table_assets';
