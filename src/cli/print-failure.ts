import { widthOf } from './terminal-width.ts';
import { wrapText } from './wrap-text.ts';

/** Prints on stderr why a command failed. */
export function printFailure(message: string): void {
  process.stderr.write(`${wrapText(`obsync: ${message}`, widthOf(process.stderr, process.stderr.isTTY === true))}\n`);
}
