import { datasetteFiles } from './datasette.ts';
import { dbtFiles } from './dbt.ts';
import { type GeneratedFile, textFile } from './generated-file.ts';
import { grafanaFiles } from './grafana.ts';
import { metabaseFiles } from './metabase.ts';
import { semanticFiles } from './semantic.ts';
import { supersetFiles } from './superset.ts';
import type { ToolPlaces } from './tool-places.ts';

/** The generator of each tool's files, by its name on the command line. */
export const BI_FILES = {
  dbt: dbtFiles,
  semantic: semanticFiles,
  grafana: grafanaFiles,
  superset: supersetFiles,
  datasette: datasetteFiles,
  metabase: metabaseFiles,
  prometheus: ({ shipped }) => [textFile('alerts.yml', shipped('alerts.yml'))],
} satisfies Readonly<Record<string, (places: ToolPlaces) => GeneratedFile[]>>;

export type BiTool = keyof typeof BI_FILES;
