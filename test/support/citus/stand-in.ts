import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';

/**
 * Adds the functions of Citus that obsync calls to a PostgreSQL in this process. Distributing a table partitions it in
 * four by the hash of the column, and drops its views. A statement that touches one partition would go to one node.
 */
export async function standInForCitus(server: PostgresConnection): Promise<void> {
  await server.query('set allow_system_table_mods to on');
  for (const statement of STAND_IN) await server.query(statement);
  await server.query('reset allow_system_table_mods');
}

export const PARTITIONS = 4;

const STAND_IN = [
  `insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    select 990001, 'citus', oid, 'pg_catalog'::regnamespace, false, '13.2' from pg_roles where rolname = current_user`,
  'create table pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", colocationid text)',
  'create function pg_catalog.create_distributed_function(regprocedure) returns void language sql as $$ select $$',
  `create table pg_catalog.pg_dist_node as select 1 as groupid, 'node' as nodename, 5432 as nodeport, 'primary' as noderole`,
  'create table pg_catalog.pg_dist_placement as select n::bigint as shardid, 1 as groupid from generate_series(0, 3) n',
  `create function pg_catalog.get_shard_id_for_distribution_column(table_name regclass, value text) returns bigint
    language sql stable as $$ select n::bigint from generate_series(0, ${PARTITIONS - 1}) n
      where satisfies_hash_partition(table_name::oid, ${PARTITIONS}, n, value collate "C") $$`,
  `create function pg_catalog.shard_name(table_name regclass, shard bigint) returns text language sql stable as
    $$ select format('%I.%I', relnamespace::regnamespace || '_shards', relname || '_in_' || shard) from pg_class where oid = table_name $$`,
  `create function pg_catalog.master_run_on_worker(names text[], ports integer[], commands text[], parallel boolean)
    returns table (node_name text, node_port integer, success boolean, result text) language plpgsql strict as $$
    declare command text;
    begin
      foreach command in array commands loop execute command; end loop;
      return query select names[1], ports[1], true, 'done';
    end $$`,
  `create function pg_catalog.create_distributed_table(
      table_name regclass, distribution_column text, distribution_type text default 'hash', colocate_with text default 'default')
    returns void language plpgsql as $$
    declare
      place text := (select relnamespace::regnamespace::text from pg_class where oid = table_name);
      name text := (select relname from pg_class where oid = table_name);
      columns text := (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
        where attrelid = table_name and attnum > 0 and not attisdropped);
    begin
      if current_setting('citus.multi_shard_modify_mode', true) is distinct from 'sequential' then
        raise exception 'cannot distribute "%" in parallel with functions', name;
      end if;
      execute format('create schema if not exists %I', place || '_shards');
      execute format('alter table %I.%I rename to %I', place, name, name || '_whole');
      execute format('create table %1$I.%2$I (like %1$I.%3$I including all) partition by hash (%4$I)',
        place, name, name || '_whole', distribution_column);
      for part in 0 .. ${PARTITIONS - 1} loop
        execute format('create table %5$I.%2$I partition of %1$I.%3$I for values with (modulus ${PARTITIONS}, remainder %4$s)',
          place, name || '_in_' || part, name, part, place || '_shards');
      end loop;
      execute format('insert into %1$I.%2$I (%4$s) overriding system value select %4$s from %1$I.%3$I', place, name, name || '_whole', columns);
      execute format('drop table %I.%I cascade', place, name || '_whole');
      insert into pg_catalog.pg_dist_partition values (
        format('%I.%I', place, name)::regclass, 'h', coalesce(nullif(colocate_with, 'none'), format('"%s"."%s"', place, name)));
    end $$`,
];
