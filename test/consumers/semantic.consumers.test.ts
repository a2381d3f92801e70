import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeBi } from '../../src/api/bi.ts';
import { copy } from '../../src/api/copy.ts';
import { type MirrorFile, openForReading } from '../../src/destination/sqlite/open.ts';
import { obsync } from '../cli/setup.ts';
import { folder } from '../export/setup.ts';
import { type TestSchema, testSchema } from '../support/postgres.ts';
import { expectReads } from './consumer.ts';
import { projectInPostgres, projectOverExport } from './dbt-project.ts';
import { writeAnswers } from './metric-questions.ts';

describe('the metrics of the demo', () => {
  let mirror: MirrorFile;
  let place: TestSchema;
  let models: TestSchema;
  let answers = '';

  beforeAll(async () => {
    [place, models] = [await testSchema(), await testSchema()];
    const cwd = folder();
    expect(await obsync(['demo', '--db', 'demo.db'], { cwd })).toMatchObject({ code: 0 });
    mirror = openForReading(join(cwd, 'demo.db'));
    answers = writeAnswers(mirror);
    await copy({ db: mirror.path, to: place.url });
  });
  afterAll(async () => {
    mirror?.connection.close();
    await place.drop();
    await models.drop();
  });

  /** Writes the semantic model of a mirror, and lets azem and ossie-guard read it. */
  async function expectModel(db: string, server: string): Promise<void> {
    const to = folder();
    await writeBi({ tool: 'semantic', to, db });
    await expectReads('semantic_model.py', answers, join(to, 'obsync.ossie.yaml'), server);
  }

  test('azem finds the semantic model to hold on the mirror file, and answers with its numbers', async () => {
    await expectModel(mirror.path, `sqlite:///${mirror.path}`);
  });

  test('azem finds it to hold in PostgreSQL, and answers with the same numbers', async () => {
    await expectModel(place.url, place.serverUrl.replace(/^postgres(ql)?:/, 'postgresql+psycopg:'));
  });

  test('over an export, MetricFlow answers with the numbers of the mirror', async () => {
    const project = await projectOverExport(mirror, { semantic: true });
    await expectReads('dbt_metrics.py', answers, project, 'dbt-duckdb');
  });

  test('in PostgreSQL, MetricFlow answers with the numbers of the mirror', async () => {
    const project = projectInPostgres(place, { semantic: true }, models.schema);
    await expectReads('dbt_metrics.py', answers, project, 'dbt-postgres');
  });
});
