import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

export const ROOT = join(import.meta.dirname, '../..');

export interface Document {
  /** Relative to the project's root: `docs/serve.md`. */
  readonly path: string;
  readonly text: string;
}

export function readDocument(path: string): Document {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') };
}

/** The documents for users and contributors: at the root and under `docs/`. */
export function allDocuments(): Document[] {
  const atRoot = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const inDocs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return [...atRoot, ...inDocs].sort().map(readDocument);
}

interface DocumentSection {
  readonly title: string;
  readonly text: string;
}

/** The sections that start with a heading of this level, up to the next heading of this or a higher level. */
export function sectionsOf({ text }: Pick<Document, 'text'>, level: number): DocumentSection[] {
  const heading = new RegExp(`^#{${level}} (.+)$`);
  const end = new RegExp(`^#{1,${level}} `);
  const sections: { title: string; lines: string[] }[] = [];
  let isInside = false;
  for (const line of text.replaceAll(FENCED, '').split('\n')) {
    const title = heading.exec(line)?.[1];
    if (end.test(line)) isInside = title !== undefined;
    if (title !== undefined) sections.push({ title, lines: [] });
    else if (isInside) sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ title, lines }) => ({ title, text: lines.join('\n') }));
}

/** The rows of the tables in a text without their headings, as lists of cells. */
export function rowsOf({ text }: Pick<DocumentSection, 'text'>): string[][] {
  const lines = text.split('\n');
  return lines
    .filter((line, i) => line.startsWith('|') && !isRule(line) && !isRule(lines[i + 1] ?? ''))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** Code blocks with their info string: the language and, for `sh`, how the block is run. */
const FENCED = /^```([^\n]*)\n([\s\S]*?)^```$/gm;

const isRule = (line: string): boolean => /^\|[-:| ]+\|$/.test(line);

export function sectionOf(document: Pick<Document, 'text'>, title: string): DocumentSection {
  const found = [2, 3].flatMap((level) => sectionsOf(document, level)).find((section) => section.title === title);
  if (found === undefined) throw new Error(`there is no section ${title}`);
  return found;
}

/** The words in backticks. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string);
}

/** The word in backticks that is the whole cell. */
export function nameIn(cell: string | undefined): string {
  const [, name] = /^`([^`]+)`$/.exec(cell ?? '') ?? [];
  if (name === undefined) throw new Error(`a name in backticks was expected, not ${cell}`);
  return name;
}

export interface Block {
  /** The info string: the language and, for `sh`, how the block is run. */
  readonly language: string;
  readonly text: string;
}

export function blocksOf({ text }: Pick<Document, 'text'>): Block[] {
  return [...text.matchAll(FENCED)].map(([, language = '', block = '']) => ({ language, text: block }));
}

/** The blocks from a heading to the next one. */
export function blocksUnder({ text }: Pick<Document, 'text'>, title: string): Block[] {
  const sections = text.split(/^#{2,3} /m);
  return blocksOf({ text: sections.find((section) => section.startsWith(`${title}\n`)) ?? '' });
}

/** Compares the generated parts of a document, by the comments that start them. `vitest -u` updates them. */
export async function expectGenerated({ path, text }: Document, parts: Readonly<Record<string, string>>) {
  const named = [...text.matchAll(/<!-- generated: (.+) -->/g)].map(([, part]) => part);
  expect(named.sort()).toEqual(Object.keys(parts).sort());
  const generated = text.replaceAll(
    /(<!-- generated: (.+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, part: string, end: string) => `${begin}\n${parts[part]}\n\n${end}`,
  );
  await expect(generated).toMatchFileSnapshot(join(ROOT, path));
}

export const code = (text: string): string => `\`${text}\``;

export function tableText(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
