import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { copy } from '../../src/api/copy.ts';
import { filesOf } from '../bi/setup.ts';
import { blocksOf, readDocument } from '../docs/documents.ts';
import { exportOf, folder } from '../export/setup.ts';
import { testSchema } from '../support/postgres.ts';
import { changeMirror, EXPORTED, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads, runPython } from './consumer.ts';

/** The blocks of the section about dbt: the files, named in their first line, and a script. */
const blocks = blocksOf(readDocument('docs/bi.md'));
const documentedFile = (name: string): string => blocks.find(({ text }) => text.startsWith(`# ${name}\n`))?.text ?? '';
const documentedScript = blocks.find(({ language }) => language === 'python')?.text ?? '';

/** A project of dbt with the generated sources. */
function dbtProject(files: Readonly<Record<string, string>>): string {
  const project = folder();
  for (const [path, { bytes }] of filesOf('dbt')) writeProjectFile(join(project, 'models', path), bytes);
  for (const [path, text] of Object.entries(files)) writeProjectFile(join(project, path), text);
  return project;
}

function writeProjectFile(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** A mirror that was synced just now, so its sources are fresh. */
function freshMirror() {
  const mirror = makeAwkwardMirror();
  onTestFinished(() => void mirror.connection.close());
  changeMirror(mirror);
  const now = new Date().toISOString().replace('Z', '000Z');
  mirror.connection.prepare('update mirror_environments set mirrored_at = ?').run(now);
  return mirror;
}

describe('the sources of obsync bi dbt', () => {
  test('over an export, dbt-duckdb parses, tests and documents them as docs/bi.md shows, and finds them fresh', async () => {
    const mirror = freshMirror();
    const names = ['profiles.yml', 'dbt_project.yml'];
    const project = dbtProject(Object.fromEntries(names.map((name) => [name, documentedFile(name)])));
    await exportOf(mirror, join(project, 'lake'), { views: true });
    await runPython(['-c', documentedScript], project);
    await expectReads('dbt_sources.py', writeExpected(mirror, EXPORTED), project, 'dbt-duckdb', 'obsync');
  });

  test('in PostgreSQL, dbt-postgres parses, tests and documents them, and finds them fresh', async () => {
    const mirror = freshMirror();
    const place = await testSchema();
    onTestFinished(() => place.drop());
    await copy({ db: mirror.path, to: place.url });
    const { hostname, port, username, password, pathname } = new URL(place.serverUrl);
    const target = {
      type: 'postgres',
      host: hostname,
      port: Number(port),
      user: username,
      schema: 'public',
      threads: 4,
    };
    const outputs = { local: { ...target, pass: decodeURIComponent(password), dbname: pathname.slice(1) } };
    const project = dbtProject({
      'profiles.yml': stringify({ observability: { target: 'local', outputs } }),
      'dbt_project.yml': `${documentedFile('dbt_project.yml')}vars: { obsync_schema: ${place.schema} }\n`,
    });
    const sources = ['obsync', 'obsync_state'];
    await expectReads('dbt_sources.py', writeExpected(mirror, DICTIONARY), project, 'dbt-postgres', ...sources);
  });
});
