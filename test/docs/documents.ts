import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export interface Document {
  /** From the project's root: `docs/serve.md`. */
  readonly path: string;
  readonly text: string;
}

export function readDocument(path: string): Document {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') };
}

/** What users and contributors read: the documents at the root and those under `docs/`. */
export function allDocuments(): Document[] {
  const atRoot = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const inDocs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return [...atRoot, ...inDocs].sort().map(readDocument);
}

export interface Section {
  readonly title: string;
  readonly text: string;
}

/** The parts of a document that begin with a heading of this level, up to the next heading of it or of a higher one. */
export function sectionsOf({ text }: Pick<Document, 'text'>, level: number): Section[] {
  const heading = new RegExp(`^#{${level}} (.+)$`);
  const end = new RegExp(`^#{1,${level}} `);
  const sections: { title: string; lines: string[] }[] = [];
  let isInside = false;
  for (const line of withoutBlocks(text).split('\n')) {
    const title = heading.exec(line)?.[1];
    if (end.test(line)) isInside = title !== undefined;
    if (title !== undefined) sections.push({ title, lines: [] });
    else if (isInside) sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ title, lines }) => ({ title, text: lines.join('\n') }));
}

export function sectionOf(document: Pick<Document, 'text'>, title: string): Section {
  const found = [2, 3].flatMap((level) => sectionsOf(document, level)).find((section) => section.title === title);
  if (found === undefined) throw new Error(`there is no section ${title}`);
  return found;
}

/** The rows of the tables in a text, without their headings; each row is its cells. */
export function rowsOf({ text }: Pick<Section, 'text'>): string[][] {
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

const isRule = (line: string): boolean => /^\|[-:| ]+\|$/.test(line);

/** The words that stand in backticks. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string);
}

/** The one word in backticks that a cell consists of. */
export function nameIn(cell: string | undefined): string {
  const [, name] = /^`([^`]+)`$/.exec(cell ?? '') ?? [];
  if (name === undefined) throw new Error(`a name in backticks was expected, not ${cell}`);
  return name;
}

export interface Block {
  /** What follows the backticks: the language and, for `sh`, how it is run. */
  readonly language: string;
  readonly text: string;
}

const FENCED = /^```([^\n]*)\n([\s\S]*?)^```$/gm;

export function blocksOf({ text }: Pick<Document, 'text'>): Block[] {
  return [...text.matchAll(FENCED)].map(([, language = '', block = '']) => ({ language, text: block }));
}

function withoutBlocks(text: string): string {
  return text.replaceAll(FENCED, '');
}
