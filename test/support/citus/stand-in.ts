import type { PostgresConnection } from '../../../src/destination/postgres/connection.ts';

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
  'create table pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", colocated_with text)',
  'create table pg_catalog.distributed_function (name text)',
  `create function pg_catalog.create_distributed_function(function_name regprocedure) returns void language sql as
    $$ insert into pg_catalog.distributed_function values (function_name::text) $$`,
  `create function pg_catalog.create_distributed_table(
      table_name regclass, distribution_column text, distribution_type text default 'hash', colocate_with text default 'default')
    returns void language plpgsql as $$
    declare
      place text := (select relnamespace::regnamespace::text from pg_class where oid = table_name);
      name text := (select relname from pg_class where oid = table_name);
      columns text := (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
        where attrelid = table_name and attnum > 0 and not attisdropped);
    begin
      execute format('alter table %I.%I rename to %I', place, name, name || '_whole');
      execute format('create table %1$I.%2$I (like %1$I.%3$I including all) partition by hash (%4$I)',
        place, name, name || '_whole', distribution_column);
      for part in 0 .. ${PARTITIONS - 1} loop
        execute format('create table %1$I.%2$I partition of %1$I.%3$I for values with (modulus ${PARTITIONS}, remainder %4$s)',
          place, name || '_in_' || part, name, part);
      end loop;
      execute format('insert into %1$I.%2$I (%4$s) overriding system value select %4$s from %1$I.%3$I', place, name, name || '_whole', columns);
      execute format('drop table %I.%I cascade', place, name || '_whole');
      insert into pg_catalog.pg_dist_partition values (format('%I.%I', place, name)::regclass, 'h', colocate_with);
    end $$`,
];
