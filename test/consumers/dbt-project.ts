import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { filesOf } from '../bi/setup.ts';
import { blocksOf, readDocument } from '../docs/documents.ts';
import { exportOf, folder } from '../export/setup.ts';
import type { TestSchema } from '../support/postgres.ts';
import { runPython } from './consumer.ts';

/** The blocks of the section about dbt: the files, named in their first line, and a script. */
const blocks = blocksOf(readDocument('docs/bi.md'));
const documentedFile = (name: string): string => blocks.find(({ text }) => text.startsWith(`# ${name}\n`))?.text ?? '';
const documentedScript = blocks.find(({ language }) => language === 'python')?.text ?? '';

interface ProjectChoice {
  /** Whether it has the models and metrics of dbt's semantic layer. */
  readonly semantic?: boolean;
}

/** A project of dbt-duckdb over an export of the mirror, as docs/bi.md shows. @returns its folder */
export async function projectOverExport(mirror: MirrorFile, choice: ProjectChoice = {}): Promise<string> {
  const names = ['profiles.yml', 'dbt_project.yml'];
  const project = dbtProject(Object.fromEntries(names.map((name) => [name, documentedFile(name)])), choice);
  await exportOf(mirror, join(project, 'lake'), { views: true });
  await runPython(['-c', documentedScript], project);
  return project;
}

/** A project of dbt-postgres over the mirror in this schema, with models in the schema `target`. @returns its folder */
export function projectInPostgres({ serverUrl, schema }: TestSchema, choice: ProjectChoice = {}, target = 'public') {
  const { hostname, port, username, password, pathname } = new URL(serverUrl);
  const server = { type: 'postgres', host: hostname, port: Number(port), user: username, schema: target, threads: 4 };
  const outputs = { local: { ...server, pass: decodeURIComponent(password), dbname: pathname.slice(1) } };
  const files = {
    'profiles.yml': stringify({ observability: { target: 'local', outputs } }),
    'dbt_project.yml': `${documentedFile('dbt_project.yml')}vars: { obsync_schema: ${schema} }\n`,
  };
  return dbtProject(files, choice);
}

/** A project of dbt with the generated sources. */
function dbtProject(files: Readonly<Record<string, string>>, { semantic = false }: ProjectChoice): string {
  const project = folder();
  for (const [path, { bytes }] of filesOf('dbt', { semantic })) writeProjectFile(join(project, 'models', path), bytes);
  for (const [path, text] of Object.entries(files)) writeProjectFile(join(project, path), text);
  return project;
}

function writeProjectFile(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
