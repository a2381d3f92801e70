import { describe, onTestFinished, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { syncCheckpoints } from '../../schema/sync.ts';
import { copy } from '../../src/api/copy.ts';
import { testSchema } from '../support/postgres.ts';
import { changeMirror, EXPORTED, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';
import { projectInPostgres, projectOverExport } from './dbt-project.ts';

/** A mirror that was synced just now, so its sources are fresh. */
function freshMirror() {
  const mirror = makeAwkwardMirror();
  onTestFinished(() => void mirror.connection.close());
  changeMirror(mirror);
  const now = new Date().toISOString().replace('Z', '000Z');
  const listed = mirror.db.select().from(environments).all();
  mirror.db
    .insert(syncCheckpoints)
    .values(listed.map(({ id }) => ({ env_id: id, stream: 'assets', watermark: now, unavailable: 0 })))
    .run();
  return mirror;
}

describe('the sources of obsync bi dbt', () => {
  test('over an export, dbt-duckdb parses, tests and documents them as docs/bi.md shows, and finds them fresh', async () => {
    const mirror = freshMirror();
    const project = await projectOverExport(mirror);
    await expectReads('dbt_sources.py', writeExpected(mirror, EXPORTED), project, 'dbt-duckdb', 'obsync');
  });

  test('in PostgreSQL, dbt-postgres parses, tests and documents them, and finds them fresh', async () => {
    const mirror = freshMirror();
    const place = await testSchema();
    onTestFinished(() => place.drop());
    await copy({ db: mirror.path, to: place.url });
    const sources = ['obsync', 'obsync_state'];
    const expected = writeExpected(mirror, DICTIONARY);
    await expectReads('dbt_sources.py', expected, projectInPostgres(place), 'dbt-postgres', ...sources);
  });
});
