import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, parseSync } from '@swc/core';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const SPEC = join(ROOT, 'src/core/SPEC.md');
const RULES = Array.from({ length: 27 }, (_, i) => `R${i + 1}`);

/** A skipped test and one that is still to be written hold no rule. */
const TESTS = /^(test|describe)(\.(each|for|concurrent|sequential))*$/;

const spec = readFileSync(SPEC, 'utf8');
const sources = ['src', 'state', 'schema'].flatMap((folder) => files(folder, '.ts')).map(load);
/** The conformance suite is run by the tests of each destination. */
const tests = [...files('test', '.test.ts'), ...files('test/support/conformance', '.ts')]
  .map(load)
  .map(({ path, text }) => ({ path, titles: titlesOf(text), calls: callsOf(text) }));

interface Source {
  readonly path: string;
  readonly text: string;
}

function files(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();
}

function load(path: string): Source {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') };
}

type Visit = (node: Node & Record<string, unknown>, within: string) => void;

/** Every node of a file, with the name of the function or method it stands in. */
function walk(text: string, visit: Visit): void {
  const go = (value: unknown, within: string): void => {
    if (Array.isArray(value)) for (const each of value) go(each, within);
    else if (typeof value === 'object' && value !== null) {
      const node = value as Node & Record<string, unknown>;
      if (node.type !== undefined) visit(node, within);
      const inner = (nameOf(node) as { value?: string } | null)?.value ?? within;
      for (const each of Object.values(node)) go(each, inner);
    }
  };
  go(parseSync(text, { syntax: 'typescript' }).body, '');
}

/** The identifier of a function, a method, or a constant that holds a function. */
function nameOf(node: Node & Record<string, unknown>): unknown {
  if (node.type === 'FunctionDeclaration') return node['identifier'];
  if (node.type === 'ClassMethod' || node.type === 'PrivateMethod') return node['key'];
  return node.type === 'VariableDeclarator' && isFunction(node['init']) ? node['id'] : null;
}

function isFunction(node: unknown): boolean {
  return ['ArrowFunctionExpression', 'FunctionExpression'].includes((node as Node | null)?.type ?? '');
}

/** The titles given to `test` and `describe`, however they are called: `test.each(…)('…')`. */
function titlesOf(text: string): string[] {
  const titles: string[] = [];
  walk(text, (node) => {
    if (node.type !== 'CallExpression' || !TESTS.test(calleeOf(node['callee']))) return;
    const title = (node['arguments'] as { expression: Node & Record<string, unknown> }[])[0]?.expression;
    if (title?.type === 'StringLiteral') titles.push(String(title['value']));
    if (title?.type === 'TemplateLiteral')
      titles.push((title['quasis'] as { raw: string }[]).map(({ raw }) => raw).join('…'));
  });
  return titles;
}

/** The functions that a file calls, by the first part of their names: `test` for `test.each(…)(…)`. */
function callsOf(text: string): Set<string> {
  const names = new Set<string>();
  walk(text, (node) => {
    if (node.type === 'CallExpression') names.add(calleeOf(node['callee']).split('.')[0] ?? '');
  });
  return names;
}

/** `test.each` for `test.each(…)(…)` and its like. */
function calleeOf(callee: unknown): string {
  const { value, callee: called, object, property } = callee as Record<string, unknown>;
  if (typeof value === 'string') return value;
  if (called !== undefined) return calleeOf(called);
  return object === undefined ? '' : `${calleeOf(object)}.${calleeOf(property)}`;
}

const names = (text: string, rule: string): boolean => new RegExp(`\\b${rule}\\b`).test(text);

/** Where a rule is kept and held, as the checklist of SPEC.md says it. */
function lineOf(rule: string): string {
  const kept = sources.filter(({ text }) => names(text, rule)).map(({ path }) => `\`${path}\``);
  const held = tests.flatMap(({ path, titles }) => {
    const count = titles.filter((title) => names(title, rule)).length;
    return count === 0 ? [] : [`\`${path}\` (${count})`];
  });
  return `- ${rule}: kept in ${kept.join(', ')}; held by ${held.join(', ')}.`;
}

const CHECKLIST = '\n## Checklist\n';

const ABOUT_CHECKLIST = `
For each rule the files that cite it, and the test files with tests that name it and how many.
\`npx vitest run test/spec.test.ts -u\` writes this list.
`;

/** What people wrote, followed by the checklist. */
function written(): string {
  const [byPeople = ''] = spec.replaceAll(/\n\n\*Kept in\*.*/g, '').split(CHECKLIST);
  return `${byPeople.trimEnd()}\n${CHECKLIST}${ABOUT_CHECKLIST}\n${RULES.map(lineOf).join('\n')}\n`;
}

/** Loops that no list bounds, as file and function. */
function loops(): string[] {
  const found = new Set<string>();
  for (const { path, text } of sources)
    walk(text, (node, within) => {
      const endless =
        ['ForStatement', 'WhileStatement', 'DoWhileStatement'].includes(node.type) ||
        (node.type === 'ForOfStatement' && node['await']);
      if (endless) found.add(`\`${path}\` \`${within}\``);
    });
  return [...found].sort();
}

describe('SPEC.md', () => {
  test.each(RULES)('it states %s once', (rule) => {
    expect(spec.split(`**${rule}.**`)).toHaveLength(2);
  });

  test.each(RULES)('it names a file that keeps %s and a test that holds it', (rule) => {
    expect(sources.filter(({ text }) => names(text, rule))).not.toEqual([]);
    expect(tests.flatMap(({ titles }) => titles).filter((title) => names(title, rule))).not.toEqual([]);
  });

  test('it lists where each rule is kept and which tests hold it', async () => {
    await expect(written()).toMatchFileSnapshot(SPEC);
  });

  test('test titles cite rules at their end, in parentheses', () => {
    const cited = tests.flatMap(({ titles }) => titles).filter((title) => /\bR\d+\b/.test(title));
    expect(cited.filter((title) => !/^[^(].*[^:,] \(R\d+(, R\d+)*\)$/s.test(title))).toEqual([]);
  });

  test('every test is counted, because all are made by `test`, never by its alias', () => {
    const callers = tests.filter(({ calls }) => calls.has('it'));
    expect(callers.map(({ path }) => path)).toEqual([]);
  });

  test('it says why each loop ends', () => {
    const listed = [...spec.matchAll(/^\| (`[^`]+` `[^`]+`) \| .+ \| .+ \|$/gm)].map(([, loop]) => loop);
    expect(listed.sort()).toEqual(loops());
  });
});
