import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';
import { PARTITIONS } from './stand-in.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly Operation?: string;
  readonly 'Relation Name'?: string;
  readonly Output?: readonly string[];
  readonly 'Subplans Removed'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The numbers of the partitions in a statement's plan; empty if it touches only local tables or cannot match a row. */
export async function partitionsOf(
  connection: PostgresConnection,
  text: string,
  values: readonly unknown[],
): Promise<ReadonlySet<number>> {
  const { rows } = await connection.query(`explain (verbose, format json) ${text}`, values);
  const [{ Plan: plan }] = JSON.parse(String(Object.values(rows[0] ?? {})[0])) as [{ Plan: PlanNode }];
  const touched = new Set<number>();
  for (const node of nodesOf(plan)) {
    if ((node['Subplans Removed'] ?? 0) > 0) throw new Error(`chosen only when it runs: ${text}`);
    const number = /_in_(\d)$/.exec(node['Relation Name'] ?? '')?.[1];
    if (number !== undefined) touched.add(Number(number));
    if (node.Operation === 'Insert')
      for (const each of await insertedInto(connection, node, { text, values })) touched.add(each);
  }
  return touched;
}

function* nodesOf(plan: PlanNode): Generator<PlanNode> {
  yield plan;
  for (const each of plan.Plans ?? []) yield* nodesOf(each);
}

/** The plan of an insert names no partition. Its environment is a value, or comes from a scan that names one. */
async function insertedInto(
  connection: PostgresConnection,
  insert: PlanNode,
  { text, values }: { readonly text: string; readonly values: readonly unknown[] },
): Promise<number[]> {
  const table = insert['Relation Name'] ?? '';
  const { rows } = await connection.query(
    `select array_position(array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
        order by attnum), 'env_id') as at
      from pg_class c where c.relname = $1 and c.relkind = 'p' and c.relnamespace = to_regnamespace(current_schema())`,
    [table],
  );
  if (rows.length === 0) return [];
  const given = insert.Plans?.[0]?.Output?.[Number(rows[0]?.['at']) - 1] ?? 'nothing';
  const constant = /^'((?:[^']|'')*)'::text$/.exec(given)?.[1];
  if (constant !== undefined) return [await partitionOf(connection, table, constant.replaceAll("''", "'"))];
  if (/(?:^|\.)env_id$/.test(given)) return [];
  const number = /^"\*VALUES\*"\.column(\d+)$/.exec(given)?.[1];
  if (number !== undefined) {
    const listed = [...text.slice(text.indexOf('values')).matchAll(/\((\$[^()]*)\)/g)].map(([, tuple = '']) =>
      tuple.split(', '),
    );
    const envIds = new Set(
      listed.map((tuple) => values[Number(/^\$(\d+)/.exec(tuple[Number(number) - 1] ?? '')?.[1]) - 1]),
    );
    return Promise.all([...envIds].map((envId) => partitionOf(connection, table, String(envId))));
  }
  throw new Error(`${table} gets rows of ${given}`);
}

async function partitionOf(connection: PostgresConnection, table: string, envId: string): Promise<number> {
  const { rows } = await connection.query(
    `select n from generate_series(0, ${PARTITIONS - 1}) n
      where satisfies_hash_partition(to_regclass($1)::oid, ${PARTITIONS}, n, $2::text collate "C")`,
    [table, envId],
  );
  return Number(rows[0]?.['n']);
}
