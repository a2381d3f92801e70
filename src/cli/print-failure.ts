import type { CommandIo } from './command.ts';
import { widthOf } from './terminal-width.ts';
import { wrapText } from './wrap-text.ts';

/** Prints on stderr why a command failed. */
export function printFailure(message: string, { stderr }: Pick<CommandIo, 'stderr'>): void {
  stderr.write(`${wrapText(`obsync: ${message}`, widthOf(stderr))}\n`);
}
