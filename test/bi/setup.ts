import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import type { ChartDialect } from '../../src/bi/chart-dialect.ts';
import { CHARTS } from '../../src/bi/charts.ts';
import type { GeneratedFile } from '../../src/bi/generated-file.ts';
import { BI_FILES } from '../../src/bi/tools.ts';

/** Every chart with its id and query. */
export function queries(dialect: ChartDialect) {
  return CHARTS.map((chart) => [chart.id, chart, chart.sql(dialect)] as const);
}

const PLACES = {
  db: '/data/obsync.db',
  schema: 'main',
  semantic: false,
  to: '/etc/dash',
  shipped: () => 'the script',
};

/** The files of a tool by path. */
export function filesOf(tool: keyof typeof BI_FILES, places: Partial<typeof PLACES> = {}): Map<string, GeneratedFile> {
  return new Map(BI_FILES[tool]({ ...PLACES, ...places }).map((file) => [file.path, file]));
}

// biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary file contents
type Parsed = any;

/** The content of a YAML or JSON file. */
export function contentOf(file: Pick<GeneratedFile, 'bytes'> | undefined): Parsed {
  return parse(Buffer.from(file?.bytes ?? []).toString());
}

/** How a value violates its schema. */
export function misfits(form: object, value: unknown): unknown[] {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  ajv.validate(form, value);
  return ajv.errors ?? [];
}
