export interface DocumentSection {
  readonly title: string;
  readonly text: string;
}

/** The sections that start with a heading of this level, up to the next heading of this or a higher level. */
export function sectionsOf({ text }: { readonly text: string }, level: number): DocumentSection[] {
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
export const FENCED = /^```([^\n]*)\n([\s\S]*?)^```$/gm;

const isRule = (line: string): boolean => /^\|[-:| ]+\|$/.test(line);

function withoutBlocks(text: string): string {
  return text.replaceAll(FENCED, '');
}
