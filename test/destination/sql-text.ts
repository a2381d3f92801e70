const WIDTH = 120;

const CLAUSE = /^(select|from|where|and|left join|cross join|values|set|on conflict|group by|order by|limit)\b/i;

/**
 * Formats a statement: in one line if it is short, otherwise with a line per clause, indented by its parentheses.
 */
export function readable(sql: string): string {
  const flat = sql.replaceAll(/\s+/g, ' ').trim();
  return flat.length <= WIDTH ? flat : clausesOf(flat).flatMap(folded).join('\n');
}

function clausesOf(sql: string): string[] {
  const lines: string[] = [];
  let depth = 0;
  let line = '';
  for (let i = 0; i < sql.length; i++) {
    const end = sql[i] === '(' ? endOf(sql, i) : i;
    if (end > i && line.length + end - i <= WIDTH) {
      line += sql.slice(i, end);
      i = end - 1;
    } else if (sql[i] === ' ' && CLAUSE.test(sql.slice(i + 1)) && !/(^\s*delete|\bdistinct)$/.test(line)) {
      lines.push(line);
      line = '  '.repeat(2 * depth + (sql.startsWith('and ', i + 1) ? 2 : 1));
    } else {
      depth += sql[i] === '(' ? 1 : sql[i] === ')' ? -1 : 0;
      line += sql[i];
    }
  }
  return [...lines, line];
}

/** The end of the parenthesis that opens at `start`. */
function endOf(sql: string, start: number): number {
  let depth = 0;
  for (let i = start; i < sql.length; i++) {
    depth += sql[i] === '(' ? 1 : sql[i] === ')' ? -1 : 0;
    if (depth === 0) return i + 1;
  }
  return sql.length;
}

/** Wraps a list that is too long for a line. */
function folded(line: string): string[] {
  const indent = ' '.repeat(line.length - line.trimStart().length + 4);
  const lines: string[] = [];
  let rest = line;
  while (rest.length > WIDTH) {
    const at = rest.lastIndexOf(', ', WIDTH);
    if (at <= indent.length) break;
    lines.push(rest.slice(0, at + 1));
    rest = `${indent}${rest.slice(at + 2)}`;
  }
  return [...lines, rest];
}
