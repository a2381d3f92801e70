import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';
import { nodesIn, readTree, type TreeNode, type TreeValue, textOf } from './node-tree.ts';

/** The volatility of PostgreSQL's functions: `i` immutable, `s` stable, `v` volatile. */
interface KnownFunctions {
  readonly volatility: ReadonlyMap<string, string>;
  readonly names: ReadonlyMap<string, string>;
  /** The functions that convert each type to and from text. */
  readonly ofType: ReadonlyMap<string, readonly string[]>;
}

export async function knownFunctions(server: PostgresConnection): Promise<KnownFunctions> {
  const { rows } = await server.query('select oid::text as oid, proname, provolatile::text as kind from pg_proc');
  const types = await server.query(
    'select oid::text as oid, typinput::oid::text as input, typoutput::oid::text as output from pg_type',
  );
  return {
    volatility: new Map(rows.map((row) => [String(row['oid']), String(row['kind'])])),
    names: new Map(rows.map((row) => [String(row['oid']), String(row['proname'])])),
    ofType: new Map(types.rows.map((row) => [String(row['oid']), [String(row['input']), String(row['output'])]])),
  };
}

/** Lets PostgreSQL parse a statement, as the body of a function, whose parse tree it stores. */
export async function parsed(connection: PostgresConnection, given: string): Promise<TreeValue> {
  // A function has at most 100 parameters, and all rows of `values` have the same form.
  const text = given.replace(/^(insert into [^\n]*\n\s*values \(\$[^()]*\))(, \(\$[^()]*\))+/, '$1');
  await connection.query(`prepare read_statement as ${text}`);
  const prepared = await connection.query(
    "select array_to_string(parameter_types, ', ') as types from pg_prepared_statements where name = 'read_statement'",
  );
  await connection.query('deallocate read_statement');
  await connection.query(
    `create function pg_temp.read_statement(${prepared.rows[0]?.['types']}) returns void begin atomic ${text}; end`,
  );
  const { rows } = await connection.query(
    "select prosqlbody::text as tree from pg_proc where oid = 'pg_temp.read_statement'::regproc",
  );
  await connection.query('drop function pg_temp.read_statement');
  return readTree(String(rows[0]?.['tree']));
}

const [UPDATE, DELETE, MERGE] = ['2', '4', '5'];

/** What Citus refuses in a statement wherever its rows are, one sentence each. */
export function refusedOf(tree: TreeValue, known: KnownFunctions): string[] {
  const all = [...nodesIn(tree)];
  const named = all.flatMap((node) => calls(node, known)).map((oid) => known.names.get(oid) ?? oid);
  const refused: string[] = [];
  if (named.includes('clock_timestamp')) refused.push('it asks clock_timestamp()');
  for (const query of all.filter(({ node }) => node === 'QUERY')) {
    const command = textOf(query, 'commandType');
    if (command === MERGE) refused.push('it is a MERGE');
    if (command === UPDATE || command === DELETE) refused.push(...refusedOfChange(query, known));
    const changing = [...nodesIn(query.fields['returningList'])].flatMap((node) => mutable(node, known));
    if (changing.length > 0) refused.push(`its RETURNING calls ${changing.join(', ')}, which is not immutable`);
  }
  if (isInsertOfSelect(all[0]) && nodesInConflict(all).some(({ node }) => node === 'PARAM'))
    refused.push('its ON CONFLICT has a parameter, whose type is lost where the rows of its SELECT are inserted');
  for (const conflict of all.filter(({ node }) => node === 'ONCONFLICTEXPR')) {
    const parts = ['arbiterWhere', 'onConflictSet', 'onConflictWhere'].map((name) => conflict.fields[name]);
    const changing = parts.flatMap((part) => [...nodesIn(part)]).flatMap((node) => mutable(node, known));
    if (changing.length > 0) refused.push(`its ON CONFLICT calls ${changing.join(', ')}, which is not immutable`);
  }
  return refused;
}

function nodesInConflict(all: readonly TreeNode[]): TreeNode[] {
  return all.filter(({ node }) => node === 'ONCONFLICTEXPR').flatMap((conflict) => [...nodesIn(conflict)]);
}

const INSERT = '3';

/** Whether it inserts what a SELECT returns, also `values` of several rows. */
function isInsertOfSelect(query: TreeNode | undefined): query is TreeNode {
  if (query === undefined || textOf(query, 'commandType') !== INSERT) return false;
  return [...nodesIn(query.fields['rtable'])].some(({ node }) => node === 'QUERY');
}

/** Whether Citus reads the rows of its SELECT first and then sends them to their nodes: their `env_id` is no column. */
export function isPulled(tree: TreeValue): boolean {
  const [query] = nodesIn(tree);
  if (!isInsertOfSelect(query)) return false;
  const [selected] = [...nodesIn(query.fields['rtable'])].filter(({ node }) => node === 'QUERY');
  const [envId] = nodesIn(selected?.fields['targetList']);
  const [source] = nodesIn(envId?.fields['expr']);
  return source?.node !== 'VAR';
}

/** What Citus refuses in a view, of all environments and of one. */
export function refusedInView(tree: TreeValue): string[] {
  const inner = [...nodesIn(tree)].filter(({ node }) => node === 'QUERY').slice(1);
  const refused: string[] = [];
  if (inner.some((query) => textOf(query, 'hasRecursive') === 'true')) refused.push('it is recursive');
  if (inner.some((query) => readsFunctionsOnly(query) && isCorrelated(query)))
    refused.push('a correlated subquery of it reads from a function');
  return refused;
}

function readsFunctionsOnly({ fields }: TreeNode): boolean {
  const kinds = [...nodesIn(fields['rtable'])].flatMap((each) =>
    each.node === 'RANGETBLENTRY' ? [textOf(each, 'rtekind')] : [],
  );
  return kinds.includes('3') && !kinds.includes('0');
}

const isCorrelated = (query: TreeNode): boolean =>
  [...nodesIn(query)].some((each) => each.node === 'VAR' && textOf(each, 'varlevelsup') !== '0');

/** Whether it locks rows or is recursive. Citus supports both only within one environment. */
export function needsOneEnvironment(tree: TreeValue): boolean {
  return [...nodesIn(tree)].some(
    (node) => node.node === 'ROWMARKCLAUSE' || (node.node === 'QUERY' && textOf(node, 'hasRecursive') === 'true'),
  );
}

/** The ids of the tables that it names. */
export function tablesIn(tree: TreeValue): string[] {
  return [...nodesIn(tree)]
    .filter((node) => node.node === 'RANGETBLENTRY' && textOf(node, 'rtekind') === '0')
    .map((node) => textOf(node, 'relid'));
}

function refusedOfChange({ fields }: TreeNode, known: KnownFunctions): string[] {
  const inside = [...nodesIn(fields['targetList']), ...nodesIn(fields['jointree'])];
  const overColumn = inside
    .filter((node) => [...nodesIn(node)].some((each) => each.node === 'VAR'))
    .flatMap((node) => mutable(node, known));
  const unpredictable = inside.flatMap((node) => calls(node, known).filter((oid) => known.volatility.get(oid) === 'v'));
  const inChoice = inside
    .filter(({ node }) => node === 'CASEEXPR' || node === 'COALESCEEXPR')
    .flatMap((choice) => [...nodesIn(choice)].flatMap((node) => mutable(node, known)));
  return [
    ...overColumn.map((name) => `its UPDATE or DELETE calls ${name}, which is not immutable, over a column`),
    ...unpredictable.map((oid) => `its UPDATE or DELETE calls ${known.names.get(oid)}, which is volatile`),
    ...inChoice.map((name) => `its CASE or COALESCE calls ${name}, which is not immutable`),
  ];
}

/** The names of the functions that a node calls and that are not immutable. */
function mutable(node: TreeNode, known: KnownFunctions): string[] {
  if (node.node === 'SQLVALUEFUNCTION' || node.node === 'NEXTVALUEEXPR') return [node.node];
  return calls(node, known)
    .filter((oid) => known.volatility.get(oid) !== 'i')
    .map((oid) => known.names.get(oid) ?? oid);
}

/** The functions that a node itself calls: by name, as an operator, or to convert a value through text. */
function calls(node: TreeNode, { ofType }: KnownFunctions): string[] {
  const own = ['funcid', 'opfuncid', 'aggfnoid', 'winfnoid'].flatMap((field) => node.fields[field] ?? []).map(String);
  if (node.node !== 'COERCEVIAIO') return own;
  const [argument] = [...nodesIn(node.fields['arg'])];
  const from = argument === undefined ? undefined : ofType.get(typeOf(argument));
  const to = ofType.get(textOf(node, 'resulttype'));
  if (from?.[1] === undefined || to?.[0] === undefined) throw new Error(`no types of ${JSON.stringify(node)}`);
  return [...own, from[1], to[0]];
}

/** The type of an expression. Each kind of node has it in a different field. */
function typeOf(node: TreeNode): string {
  const found = Object.keys(node.fields).find((name) => /^(?:var|param|const|\w*result)type$/.test(name));
  if (found === undefined) throw new Error(`no type in ${node.node}`);
  return textOf(node, found);
}
