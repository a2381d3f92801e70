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

insert into "columns" ("env_id", "id", "asset_id", "name", "data_type", "synced_at", "deleted_at", "deletion",
    "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "id") do update
  set "asset_id" = excluded."asset_id", "name" = excluded."name", "data_type" = excluded."data_type",
      "synced_at" = excluded."synced_at", "deleted_at" = excluded."deleted_at", "deletion" = excluded."deletion",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';


-- rows that a page shows deleted

insert into "columns" ("env_id", "id", "asset_id", "name", "data_type", "synced_at", "deleted_at", "deletion",
    "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "id") do update
  set "asset_id" = excluded."asset_id", "name" = excluded."name", "data_type" = excluded."data_type",
      "synced_at" = excluded."synced_at", "deleted_at" = excluded."deleted_at", "deletion" = excluded."deletion",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

select distinct "downstream_column_id"
  from "column_lineage"
  where env_id = @env
    and "upstream_column_id" in (select value from json_each(@ids))
  order by 1;

update "columns"
  set mirrored_at = @mirroredAt
  where env_id = @env
    and deleted_at is null
    and id in (select value from json_each(@ids));

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

delete from "column_lineage" where env_id = @env and "downstream_column_id" in (select value from json_each(@ids));

delete from "column_lineage" where env_id = @env and "upstream_column_id" in (select value from json_each(@ids));

update mirror_environments set rows_removed_at = mirrored_at where env_id = @env;

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';


-- keys that a read has shown

insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys);


-- rows that are back: rejected no more, held back no more

select exists (select 1 from rejected_rows as x where x.env_id = @env and x.stream = 'columns') rejected_rows,
    exists (select 1
      from held_removals as x
      where x.env_id = @env
        and x.stream = 'columns') held_removals;

delete from rejected_rows as x
  where x.env_id = @env
    and x.stream = 'columns'
    and x.row_key in (select value from json_each(@joined));

delete from held_removals as x
  where x.env_id = @env
    and x.stream = 'columns'
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
    and r.stream = 'columns'
    and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1 from "columns" t where t.env_id = @env and t."id" = r.row_key and t.deleted_at is null);


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


-- marks that are paid

delete from marks as m
  where m.env_id = @env
    and m.stream = 'columns'
    and m.id in (select value from json_each(@ids))
    and m.number <= @lastMark
    and not false;


-- marks that wait for a later run, where there are any

insert into marks (env_id, stream, id, number, left_by_run)
  select env_id, 'columns', id, @lastMark, @run
  from (select m.env_id, m.id
      from marks m
      where m.env_id = @env
        and m.stream = 'columns'
        and m.id in (select value from json_each(@ids))) waiting
  where true
  on conflict (env_id, stream, id) do update
  set left_by_run = excluded.left_by_run
  where marks.number <= excluded.number;


-- marks that wait for a later run, made where there are none

insert into marks (env_id, stream, id, number, left_by_run)
  select env_id, 'columns', id, @lastMark, @run
  from (select c.env_id, value id from mirror_environments c cross join json_each(@ids) where c.env_id = @env) waiting
  where true
  on conflict (env_id, stream, id) do update
  set left_by_run = excluded.left_by_run
  where marks.number <= excluded.number;


-- rows of parents that were read again

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'columns') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'columns') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'columns') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'columns') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'columns') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'columns') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'columns'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'columns', @last) on conflict (env_id, stream) do update set page = excluded.page;

select t."id", t."asset_id", t."name", t."data_type", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "columns" t
  where t.env_id = @env
    and t.id || '' > @after
    and t.deleted_at is null
    and t."asset_id" = @id
    and not exists (select 1
      from seen_keys s
      where s.env_id = @env
        and s.stream = 'columns'
        and s.key_1 = t."id"
        and s.read_number >= @sinceRead)
  order by t.id || ''
  limit 2000;

insert into "columns" ("env_id", "id", "asset_id", "name", "data_type", "synced_at", "deleted_at", "deletion",
    "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "id") do update
  set "asset_id" = excluded."asset_id", "name" = excluded."name", "data_type" = excluded."data_type",
      "synced_at" = excluded."synced_at", "deleted_at" = excluded."deleted_at", "deletion" = excluded."deletion",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

select distinct "downstream_column_id"
  from "column_lineage"
  where env_id = @env
    and "upstream_column_id" in (select value from json_each(@ids))
  order by 1;

update "columns"
  set mirrored_at = @mirroredAt
  where env_id = @env
    and deleted_at is null
    and id in (select value from json_each(@ids));

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

delete from "column_lineage" where env_id = @env and "downstream_column_id" in (select value from json_each(@ids));

delete from "column_lineage" where env_id = @env and "upstream_column_id" in (select value from json_each(@ids));

update mirror_environments set rows_removed_at = mirrored_at where env_id = @env;


-- what one read saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'columns' and p.read_number = @which;

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';

delete from seen_keys as s where s.env_id = @env and s.stream = 'columns';

delete from seen_through as s where s.env_id = @env and s.stream = 'columns';


-- what a round saw and gathered is dropped

delete from seen_pages as p where p.env_id = @env and p.stream = 'columns';

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';

delete from seen_keys as s where s.env_id = @env and s.stream = 'columns';

delete from seen_through as s where s.env_id = @env and s.stream = 'columns';


-- a sweep

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'columns') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'columns') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'columns') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'columns') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'columns') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'columns') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'columns'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'columns', @last) on conflict (env_id, stream) do update set page = excluded.page;

insert into missing_found values (@env, 'columns') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'columns', t."id", ''
  from "columns" t
  where t.env_id = @env
    and case when exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id") then false else t.deleted_at is null end
  order by t."id"
  on conflict do nothing;

select count(*)
  from "columns" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not (exists (select 1
          from "assets" t_parent
          where t_parent.env_id = @env
            and t_parent.id = t."asset_id"
            and (t_parent.deletion = 'tombstone')))
    and not exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'columns' and h.key_1 = t."id");

select t."id", t."asset_id", t."name", t."data_type", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "columns" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and ((exists (select 1
              from "assets" t_parent
              where t_parent.env_id = @env
                and t_parent.id = t."asset_id"
                and (t_parent.deletion = 'tombstone'))) or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'columns'
            and h.key_1 = t."id"))
  order by t.id
  limit 2000;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'columns'
    and not exists (select 1
      from "columns" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'columns'
        and h.key_1 = t."id"
        and t.deleted_at is null
        and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
        and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id"));

delete from marks as m
  where m.env_id = @env
    and m.stream = 'columns'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'columns' and coalesce(m.left_by_run, 0) < @run limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'columns' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'columns';

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';

delete from seen_keys as s where s.env_id = @env and s.stream = 'columns';

delete from seen_through as s where s.env_id = @env and s.stream = 'columns';


-- a sweep that is held back

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'columns') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'columns') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'columns') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'columns') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'columns') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'columns') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'columns'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'columns', @last) on conflict (env_id, stream) do update set page = excluded.page;

insert into missing_found values (@env, 'columns') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'columns', t."id", ''
  from "columns" t
  where t.env_id = @env
    and case when exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id") then false else t.deleted_at is null end
  order by t."id"
  on conflict do nothing;

select count(*)
  from "columns" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not (exists (select 1
          from "assets" t_parent
          where t_parent.env_id = @env
            and t_parent.id = t."asset_id"
            and (t_parent.deletion = 'tombstone')))
    and not exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'columns' and h.key_1 = t."id");

insert into held_removals (env_id, stream, key_1, key_2, absent_at)
  select t.env_id, 'columns', t."id", '', @at
  from "columns" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not (exists (select 1
          from "assets" t_parent
          where t_parent.env_id = @env
            and t_parent.id = t."asset_id"
            and (t_parent.deletion = 'tombstone')))
  on conflict (env_id, stream, key_1, key_2) do update
  set absent_at = excluded.absent_at;

select t."id", t."asset_id", t."name", t."data_type", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "columns" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and ((exists (select 1
              from "assets" t_parent
              where t_parent.env_id = @env
                and t_parent.id = t."asset_id"
                and (t_parent.deletion = 'tombstone'))) or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'columns'
            and h.key_1 = t."id"))
  order by t.id
  limit 2000;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'columns'
    and not exists (select 1
      from "columns" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'columns'
        and h.key_1 = t."id"
        and t.deleted_at is null
        and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
        and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id"));

delete from marks as m
  where m.env_id = @env
    and m.stream = 'columns'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'columns' and coalesce(m.left_by_run, 0) < @run limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'columns' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'columns';

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';

delete from seen_keys as s where s.env_id = @env and s.stream = 'columns';

delete from seen_through as s where s.env_id = @env and s.stream = 'columns';


-- a sweep that another scan follows

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'columns') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'columns') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'columns') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'columns') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'columns') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'columns') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'columns'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'columns', @last) on conflict (env_id, stream) do update set page = excluded.page;

insert into missing_found values (@env, 'columns') on conflict do nothing;

insert into missing_keys
  select t.env_id, 'columns', t."id", ''
  from "columns" t
  where t.env_id = @env
    and case when exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id") then false else t.deleted_at is null end
  order by t."id"
  on conflict do nothing;

select count(*)
  from "columns" t
  where t.env_id = @env
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and not (exists (select 1
          from "assets" t_parent
          where t_parent.env_id = @env
            and t_parent.id = t."asset_id"
            and (t_parent.deletion = 'tombstone')))
    and not exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'columns' and h.key_1 = t."id");

select t."id", t."asset_id", t."name", t."data_type", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "columns" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
    and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
    and ((exists (select 1
              from "assets" t_parent
              where t_parent.env_id = @env
                and t_parent.id = t."asset_id"
                and (t_parent.deletion = 'tombstone'))) or not exists (select 1
          from held_removals h
          where h.env_id = @env
            and h.stream = 'columns'
            and h.key_1 = t."id"))
  order by t.id
  limit 2000;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'columns'
    and not exists (select 1
      from "columns" t
      where t.env_id = @env
        and h.env_id = @env
        and h.stream = 'columns'
        and h.key_1 = t."id"
        and t.deleted_at is null
        and (t."id") in (select m.key_1 from missing_keys m where m.env_id = @env and m.stream = 'columns')
        and not exists (select 1 from seen_keys s where s.env_id = @env and s.stream = 'columns' and s.key_1 = t."id"));

delete from marks as m
  where m.env_id = @env
    and m.stream = 'columns'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'columns' and coalesce(m.left_by_run, 0) < @run limit 1;

update sync_checkpoints
  set finished_cycle = null
  where env_id = @env
    and stream in (select value from json_each(@names))
    and finished_cycle is not null;

delete from rejected_rows as r where r.env_id = @env and r.stream = 'columns' and r.run_id < @since;

delete from seen_pages as p where p.env_id = @env and p.stream = 'columns' and p.read_number < @from;

update seen_pages as p set read_number = 0 where p.env_id = @env and p.stream = 'columns';

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';

delete from seen_keys as s where s.env_id = @env and s.stream = 'columns';

delete from seen_through as s where s.env_id = @env and s.stream = 'columns';


-- rows whose removal is held back are marked

select distinct h.key_1 from held_removals h where h.env_id = @env and h.stream = 'columns' order by 1;

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

select (select max(w.id) from seen_pages w where w.env_id = @env and w.stream = 'columns') last, (select w.page
      from seen_through w
      where w.env_id = @env
        and w.stream = 'columns') through, exists (select 1
      from missing_found w
      where w.env_id = @env
        and w.stream = 'columns') is_found, exists (select 1
      from missing_keys w
      where w.env_id = @env
        and w.stream = 'columns') has_missing, exists (select 1
      from staged_loaded w
      where w.env_id = @env
        and w.stream = 'columns') is_loaded, false has_staged, exists (select 1
      from marks w
      where w.env_id = @env
        and w.stream = 'columns') has_marks,
            (select returned_count from mirror_environments where env_id = @env) "returns";

insert into seen_keys
  select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
  from seen_pages p, json_each(p.keys) k
  where p.env_id = @env
    and p.stream = 'columns'
    and p.id > @through
  order by 3, 4
  on conflict do nothing;

insert into seen_through values (@env, 'columns', @last) on conflict (env_id, stream) do update set page = excluded.page;

select max(h.absent_at)
  from held_removals as h
  where h.env_id = @env
    and h.stream = 'columns'
    and (cast(@through as text) is null or h.key_1 <= @through);

select t."id", t."asset_id", t."name", t."data_type", t."synced_at", t."deleted_at", t."deletion", t."extra"
  from "columns" t
  where t.env_id = @env
    and t.id > @after
    and t.deleted_at is null
    and exists (select 1 from held_removals h where h.env_id = @env and h.stream = 'columns' and h.key_1 = t."id")
    and (cast(@through as text) is null or t.id <= @through)
  order by t.id
  limit 2000;

insert into "columns" ("env_id", "id", "asset_id", "name", "data_type", "synced_at", "deleted_at", "deletion",
    "mirrored_at", "extra")
  values (:env_id, ?, ?, ?, ?, ?, ?, ?, :mirrored_at, ?)
  on conflict ("env_id", "id") do update
  set "asset_id" = excluded."asset_id", "name" = excluded."name", "data_type" = excluded."data_type",
      "synced_at" = excluded."synced_at", "deleted_at" = excluded."deleted_at", "deletion" = excluded."deletion",
      "mirrored_at" = excluded."mirrored_at", "extra" = excluded."extra";

select distinct "downstream_column_id"
  from "column_lineage"
  where env_id = @env
    and "upstream_column_id" in (select value from json_each(@ids))
  order by 1;

update "columns"
  set mirrored_at = @mirroredAt
  where env_id = @env
    and deleted_at is null
    and id in (select value from json_each(@ids));

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

delete from "column_lineage" where env_id = @env and "downstream_column_id" in (select value from json_each(@ids));

delete from "column_lineage" where env_id = @env and "upstream_column_id" in (select value from json_each(@ids));

update mirror_environments set rows_removed_at = mirrored_at where env_id = @env;

delete from held_removals as h
  where h.env_id = @env
    and h.stream = 'columns'
    and (cast(@through as text) is null or h.key_1 <= @through);

delete from marks as m
  where m.env_id = @env
    and m.stream = 'columns'
    and coalesce(m.left_by_run, 0) < @run
    and m.number <= @lastMark;

select 1 from marks as m where m.env_id = @env and m.stream = 'columns' and coalesce(m.left_by_run, 0) < @run limit 1;

delete from seen_pages as p where p.env_id = @env and p.stream = 'columns';

delete from missing_keys as m where m.env_id = @env and m.stream = 'columns';

delete from missing_found as m where m.env_id = @env and m.stream = 'columns';

delete from seen_keys as s where s.env_id = @env and s.stream = 'columns';

delete from seen_through as s where s.env_id = @env and s.stream = 'columns';
