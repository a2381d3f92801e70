import { textWidth } from './text-width.ts';

/** Breaks lines longer than `width` between words and indents the continuation. A `width` of null means no limit. */
export function wrapText(text: string, width: number | null): string {
  if (width === null) return text;
  const lines = text.split('\n').flatMap((line) => wrapLine(line, width));
  return lines.join('\n');
}

function wrapLine(line: string, width: number): string[] {
  if (textWidth(line) <= width) return [line];
  const indent = /^ */.exec(line)?.[0] ?? '';
  const [first = '', ...words] = line.trimStart().split(' ');
  const lines: string[] = [];
  let current = indent + first;
  for (const word of words) {
    const longer = `${current} ${word}`;
    if (textWidth(longer) <= width) current = longer;
    else {
      lines.push(current);
      current = `${indent}  ${word}`;
    }
  }
  return [...lines, current];
}
