import { Ajv2020 } from 'ajv/dist/2020.js';
import { unzipSync } from 'fflate';
import { parse } from 'yaml';
import type { GeneratedFile } from '../../src/bi/generated-file.ts';
import { BI_FILES } from '../../src/bi/tools.ts';
import { addressOf } from '../../src/settings/addresses/mirror-address.ts';

const PLACES = {
  db: '/data/obsync.db',
  pageUrl: null as string | null,
  semantic: false,
  to: '/etc/dash',
  shipped: () => 'the script',
};

/** The files of a tool by path. `db` is the address of the mirror. */
export function filesOf(tool: keyof typeof BI_FILES, places: Partial<typeof PLACES> = {}): Map<string, GeneratedFile> {
  const { db, ...rest } = { ...PLACES, ...places };
  return new Map(BI_FILES[tool]({ ...rest, mirror: addressOf(db, {}) }).map((file) => [file.path, file]));
}

// biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary file contents
type Parsed = any;

/** The content of a YAML or JSON file. */
export function contentOf(file: Pick<GeneratedFile, 'bytes'> | undefined): Parsed {
  return parse(Buffer.from(file?.bytes ?? []).toString());
}

/** The content of each file in an archive for Superset. */
export function archived(name: string, places: Partial<typeof PLACES> = {}): Map<string, Parsed> {
  const entries = Object.entries(unzipSync(filesOf('superset', places).get(name)?.bytes ?? new Uint8Array()));
  return new Map(entries.map(([path, bytes]) => [path, contentOf({ bytes })]));
}

/** Compiles each schema once. */
const ajv = new Ajv2020({ allErrors: true, strict: false });

/** How a value violates its schema. */
export function misfits(form: object, value: unknown): unknown[] {
  ajv.validate(form, value);
  return ajv.errors ?? [];
}
