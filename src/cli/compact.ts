import { compact } from '../api/compact.ts';
import type { CompactReport } from '../destination/sqlite/compact-file.ts';
import { libraryOptions } from './library-options.ts';
import { printingCommand } from './print.ts';
import { sizeText } from './words.ts';

export const compactCommand = printingCommand((args) => compact(libraryOptions(args)), renderCompaction);

function renderCompaction({ db, bytes_before, bytes_after }: CompactReport): string {
  const sizes = `${db}: ${sizeText(bytes_before)} before, ${sizeText(bytes_after)} now.\n`;
  const isHeld = bytes_after > bytes_before;
  return isHeld ? `${sizes}A reader still uses the old pages: the file shrinks with the next sync.\n` : sizes;
}
