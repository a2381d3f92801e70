import { dbtFiles } from './dbt.ts';
import type { GeneratedFile } from './generated-file.ts';
import { grafanaFiles } from './grafana.ts';
import { metabaseFiles } from './metabase.ts';
import { semanticFiles } from './semantic.ts';
import { supersetFiles } from './superset.ts';

export { writeFiles } from './write-files.ts';

/** What else the files of a tool need. */
interface ToolPlaces {
  /** The mirror file, by its whole path. */
  readonly db: string;
  /** The folder of the files, by its whole path. */
  readonly to: string;
  /** The script that brings the charts into a Metabase. */
  readonly metabaseScript: () => string;
}

/** What makes the files of each tool, by the word of the command line. */
export const BI_FILES = {
  dbt: dbtFiles,
  semantic: semanticFiles,
  grafana: grafanaFiles,
  superset: supersetFiles,
  metabase: ({ metabaseScript }) => metabaseFiles(metabaseScript()),
} satisfies Readonly<Record<string, (places: ToolPlaces) => GeneratedFile[]>>;

export type BiTool = keyof typeof BI_FILES;
