import { stringify } from 'yaml';

/** A file that obsync makes for others to look at. */
export interface GeneratedFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Stands near the beginning of every file, so that a file of someone else is told from one of ours. */
export const MARK = 'Written by `obsync ';

const MARKED_BYTES = 300;

/** Whether a file is one of ours. One that quotes the mark further below is not. */
export function isMarked(bytes: Buffer): boolean {
  const begin = bytes.toString('latin1', 0, 4) === 'PK\u0003\u0004' ? directoryOf(bytes) : 0;
  return bytes.subarray(begin, begin + MARKED_BYTES).includes(MARK);
}

/**
 * Where the directory of an archive begins, in which the comment of its first entry stands: its last 22 bytes say so.
 */
function directoryOf(archive: Buffer): number {
  const end = archive.length - 22;
  return end < 0 ? 0 : archive.readUInt32LE(end + 16);
}

/** What every file says of itself. */
export const NOTE = `${MARK}bi\`. The next run writes it again: changes are lost then.`;

export function textFile(path: string, text: string): GeneratedFile {
  return { path, bytes: Buffer.from(text) };
}

export function yamlFile(path: string, value: unknown): GeneratedFile {
  return textFile(path, yamlText(value));
}

/**
 * Long texts stay on one line, and nothing is written as a reference to an equal value elsewhere in the file. Words
 * that readers of YAML 1.1, such as those in Python, take for something else than text are quoted.
 */
export function yamlText(value: unknown): string {
  return `# ${NOTE}\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' })}`;
}

export function jsonFile(path: string, value: unknown): GeneratedFile {
  return textFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
