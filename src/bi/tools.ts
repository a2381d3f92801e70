import { dbtFiles } from './dbt.ts';
import { dbtSemanticFiles } from './dbt-semantic.ts';
import { type GeneratedFile, textFile } from './generated-file.ts';
import { grafanaFiles } from './grafana.ts';
import { metabaseFiles } from './metabase.ts';
import { semanticFiles } from './semantic.ts';
import { supersetFiles } from './superset.ts';

export { writeFiles } from './write-files.ts';

/** The other inputs of a tool's files. */
interface ToolPlaces {
  /** The absolute path of the mirror file. */
  readonly db: string;
  /** The schema of the mirror in its database. */
  readonly schema: string;
  /** The absolute path of the target folder. */
  readonly to: string;
  /** Whether dbt gets models and metrics of its semantic layer too. */
  readonly semantic: boolean;
  /** A file that the package ships as it is. */
  readonly shipped: (name: string) => string;
}

/** The generator of each tool's files, by its name on the command line. */
export const BI_FILES = {
  dbt: ({ semantic }) => (semantic ? [...dbtFiles(), ...dbtSemanticFiles()] : dbtFiles()),
  semantic: semanticFiles,
  grafana: grafanaFiles,
  superset: supersetFiles,
  metabase: ({ shipped }) => metabaseFiles(shipped('metabase.mjs')),
  prometheus: ({ shipped }) => [textFile('alerts.yml', shipped('alerts.yml'))],
} satisfies Readonly<Record<string, (places: ToolPlaces) => GeneratedFile[]>>;

export type BiTool = keyof typeof BI_FILES;
