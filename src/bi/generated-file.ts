import { stringify } from 'yaml';

/** A file that obsync generates. */
export interface GeneratedFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Appears near the beginning of every generated file and distinguishes it from files of others. */
export const MARK = 'Written by `obsync ';

const MARKED_BYTES = 300;

/** Whether obsync generated a file. A file that only quotes the mark further down does not count. */
export function isMarked(bytes: Buffer): boolean {
  const begin = bytes.toString('latin1', 0, 4) === 'PK\u0003\u0004' ? directoryOf(bytes) : 0;
  return bytes.subarray(begin, begin + MARKED_BYTES).includes(MARK);
}

/** The offset of a ZIP archive's central directory, from the last 22 bytes. The first entry's comment is there. */
function directoryOf(archive: Buffer): number {
  const end = archive.length - 22;
  return end < 0 ? 0 : archive.readUInt32LE(end + 16);
}

/** The comment in every generated file. */
export const NOTE = `${MARK}bi\`. The next run overwrites this file: changes are lost.`;

export function textFile(path: string, text: string): GeneratedFile {
  return { path, bytes: Buffer.from(text) };
}

export function yamlFile(path: string, value: unknown): GeneratedFile {
  return textFile(path, yamlText(value));
}

/**
 * Long texts stay on one line, and equal values are repeated instead of becoming aliases. Words that YAML 1.1 parsers,
 * such as Python's, would not read as text are quoted.
 */
export function yamlText(value: unknown): string {
  return `# ${NOTE}\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' })}`;
}

export function jsonFile(path: string, value: unknown): GeneratedFile {
  return textFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
