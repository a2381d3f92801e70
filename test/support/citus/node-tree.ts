/** A node of PostgreSQL's parse tree: `{NAME :field value …}`, a list, or text. */
export type TreeValue = TreeNode | readonly TreeValue[] | string;

export interface TreeNode {
  readonly node: string;
  readonly fields: Readonly<Record<string, readonly TreeValue[]>>;
}

/** Parses the text form of PostgreSQL's parse tree (`pg_node_tree`). */
export function readTree(text: string): TreeValue {
  const tokens = text.match(/\\.|[{}()]|"(?:[^"\\]|\\.)*"|(?:[^\s{}()\\]|\\.)+/g) ?? [];
  let at = 0;
  const value = (): TreeValue => {
    const token = tokens[at++] ?? '';
    if (token === '{') return node();
    if (token !== '(') return token;
    const items: TreeValue[] = [];
    while (tokens[at] !== ')') items.push(value());
    at += 1;
    return items;
  };
  const node = (): TreeNode => {
    const name = tokens[at++] ?? '';
    const fields: Record<string, TreeValue[]> = {};
    let own: TreeValue[] = [];
    while (tokens[at] !== '}') {
      if (tokens[at]?.startsWith(':') === true) {
        own = [];
        fields[String(tokens[at++]).slice(1)] = own;
      } else own.push(value());
    }
    at += 1;
    return { node: name, fields };
  };
  return value();
}

function isNode(value: TreeValue): value is TreeNode {
  return typeof value === 'object' && 'node' in value;
}

/** All nodes in a value, outermost first. */
export function* nodesIn(value: TreeValue | undefined): Generator<TreeNode> {
  if (value === undefined || typeof value === 'string') return;
  if (!isNode(value)) {
    for (const each of value) yield* nodesIn(each);
    return;
  }
  yield value;
  for (const field of Object.values(value.fields)) yield* nodesIn(field);
}

/** The plain value of a field. */
export function textOf({ fields }: TreeNode, field: string): string {
  return String(fields[field]?.[0] ?? '');
}
