import { widthOf } from './screen.ts';
import { textWidth } from './text-width.ts';

/** Lines of words that are too long for the screen go on below, indented: no word is cut in two. Null: as they are. */
export function wrapped(text: string, width: number | null): string {
  if (width === null) return text;
  return text
    .split('\n')
    .flatMap((line) => wrapLine(line, width))
    .join('\n');
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

/** Says on stderr why a command fails. */
export function tellFailure(message: string): void {
  process.stderr.write(`${wrapped(`obsync: ${message}`, widthOf(process.stderr, process.stderr.isTTY === true))}\n`);
}
