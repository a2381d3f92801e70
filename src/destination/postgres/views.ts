import { createHash } from 'node:crypto';
import { PgDialect } from 'drizzle-orm/pg-core';
import { getViewConfig } from 'drizzle-orm/sqlite-core';
import { escapeLiteral } from 'pg';
import { MIRROR_VIEWS } from '../../../schema/dictionary.ts';
import { type DescribedTable, descriptionOf } from '../../../schema/table.ts';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';
import { selectInPostgres } from '../../../schema/view.ts';
import { VIEW_FUNCTIONS } from '../../../schema/view-postgres.ts';
import { usageError } from '../../core/errors.ts';
import { quote } from '../sql/tables.ts';
import { codeOf } from './server-error.ts';
import type { PostgresConnection } from './transaction.ts';

interface PostgresView {
  readonly name: string;
  readonly select: string;
  /** Changes with what the view is made of, and with the comments, which it loses when it is dropped. */
  readonly hash: string;
}

/** Every view, after those that it reads. */
export function postgresViews(): PostgresView[] {
  const shared = hashOf(JSON.stringify(VIEW_FUNCTIONS) + ofEnvironment('', '') + commentStatements());
  const all = MIRROR_VIEWS.map((view) => {
    const select = new PgDialect().sqlToQuery(selectInPostgres(view)).sql;
    return { name: getViewConfig(view).name, select, hash: hashOf(select + shared) };
  });
  const ordered = new Map<string, PostgresView>();
  const add = (view: PostgresView) => {
    for (const other of all) if (other !== view && reads(view, other)) add(other);
    ordered.set(view.name, view);
  };
  for (const view of all) add(view);
  return [...ordered.values()];
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const RECURSIVE = /\bWITH RECURSIVE\b/;

/** The names of the views that also have a function for one environment. */
export function recursiveViews(): string[] {
  return postgresViews().flatMap(({ name, select }) => (RECURSIVE.test(select) ? [name] : []));
}

/**
 * The function that returns a view's rows of one environment. Citus runs a recursion only on one node: no local table
 * is joined, and each table has its own condition on the environment, including those of the views that this one reads.
 */
function ofEnvironment(name: string, select: string): string {
  const alone = select
    .replaceAll('LEFT JOIN environments v', 'LEFT JOIN (SELECT $1 AS id, env_name AS name) v')
    .replaceAll(/\benv_id = \w+\.env_id\b/g, 'env_id = $$1');
  return `function ${quote(functionOf(name))}(env_id text) returns setof ${quote(name)}
  language plpgsql stable set search_path from current as $function$
#variable_conflict use_column
declare env_name text := (select e.name from environments e where e.id = $1);
begin
  return query select * from (${alone}) v where v.env_id = $1;
end $function$`;
}

export const functionOf = (view: string): string => `${view}_of`;

/** A SELECT that reads tables only. */
function inlined(select: string, views: readonly PostgresView[]): string {
  return views.reduceRight(
    (sql, { name, select: inner }) =>
      sql.replaceAll(
        new RegExp(`\\b(FROM|JOIN) ${name}\\b(?: (?!WHERE\\b)(\\w+))?`, 'g'),
        (_, join: string, alias = name) => `${join} (${inner}) ${alias}`,
      ),
    select,
  );
}

const reads = ({ select }: PostgresView, { name }: PostgresView) => new RegExp(`(FROM|JOIN) ${name}\\b`).test(select);

/**
 * Changes the tables, and then creates this version's views and comments. The views are dropped first so they don't
 * block the change, unless other users' views depend on them: then they are replaced, which PostgreSQL allows while
 * their columns stay the same.
 * @throws SyncError `usage` if other users' views are in the way
 */
export async function aroundViews(
  connection: PostgresConnection,
  schema: string,
  change: () => Promise<void>,
): Promise<void> {
  const { rows } = await connection.query('select name from __obsync_views order by number desc');
  const old = rows.map(({ name }) => String(name));
  const others = (await connection.query(OTHERS)).rows;
  const grants = (await connection.query(GRANTS, [old])).rows;
  const isFree = !others.some(({ over }) => old.includes(String(over)));
  try {
    if (isFree) await drop(connection, old);
    await change();
    await createViews(connection);
    await connection.query(commentStatements());
    const kept = new Set(postgresViews().map(({ name }) => name));
    const outdated = old.filter((name) => !kept.has(name));
    if (!isFree) await drop(connection, outdated);
    for (const { view, right, to, option } of isFree ? grants : [])
      if (kept.has(String(view))) await connection.query(`grant ${right} on ${quote(String(view))} to ${to}${option}`);
  } catch (error) {
    if (others.length === 0 || !IN_THE_WAY.has(String(codeOf(error)))) throw error;
    const names = [...new Set(others.map(({ name }) => name))].join(', ');
    const text = `the mirror in schema ${schema} cannot be brought up to date beside views of your own (${names})`;
    throw usageError(`${text}: drop them, run \`obsync sync\`, and create them again`, { cause: error });
  }
}

/** Something depends on what is dropped or uses a column whose type changes, or a view would get other columns. */
const IN_THE_WAY: ReadonlySet<string> = new Set(['2BP01', '0A000', '42P16']);

async function drop(connection: PostgresConnection, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await connection.query(`drop function if exists ${quote(functionOf(name))}(text)`);
    await connection.query(`drop view if exists ${quote(name)}`);
  }
}

async function createViews(connection: PostgresConnection): Promise<void> {
  await connection.query('delete from __obsync_views');
  for (const [signature, body] of Object.entries(VIEW_FUNCTIONS))
    await connection.query(`create or replace function ${signature} ${body}`);
  const views = postgresViews();
  for (const [number, { name, select, hash }] of views.entries()) {
    await connection.query(`create or replace view ${quote(name)} as ${select}`);
    if (RECURSIVE.test(select))
      await connection.query(`create or replace ${ofEnvironment(name, inlined(select, views))}`);
    await connection.query('insert into __obsync_views (number, name, hash) values ($1, $2, $3)', [number, name, hash]);
  }
}

/** The privileges granted on some of our views. */
const GRANTS = `select c.relname as view, a.privilege_type as right,
    case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as to,
    case when a.is_grantable then ' with grant option' else '' end as option
  from pg_class c cross join lateral aclexplode(c.relacl) a
  where c.relnamespace = (select oid from pg_namespace where nspname = current_schema()) and c.relname = any($1) and a.grantee <> c.relowner`;

/** Other users' views that depend on a table or view of this schema, or on the function of a view. */
const OTHERS = `select distinct format('%I.%I', n.nspname, c.relname) as name, o.name as over
  from pg_depend d
  join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
  join pg_class c on c.oid = r.ev_class
  join pg_namespace n on n.oid = c.relnamespace
  join (select 'pg_class'::regclass as class, oid, relname as name, relnamespace as schema from pg_class
    union all select 'pg_proc'::regclass, oid, regexp_replace(proname, '_of$', ''), pronamespace from pg_proc) o
    on o.class = d.refclassid and o.oid = d.refobjid
  join pg_namespace ours on ours.oid = o.schema and ours.nspname = current_schema()
  where c.oid <> o.oid and not (n.oid = ours.oid and c.relname in (select name from __obsync_views))
  order by 1`;

/** The statements that give tables, views and columns their descriptions, for whoever looks at them in the database. */
function commentStatements(): string {
  return [...MIRRORED_TABLES, ...STATE_TABLES, ...MIRROR_VIEWS].map(descriptionOf).flatMap(commentsOf).join(';\n');
}

function commentsOf({ name, kind, description, columns }: DescribedTable): string[] {
  return [
    `comment on ${kind} ${quote(name)} is ${escapeLiteral(description)}`,
    ...columns.map(
      (column) => `comment on column ${quote(name)}.${quote(column.name)} is ${escapeLiteral(column.description)}`,
    ),
  ];
}
