import { afterAll, beforeAll, describe, test } from 'vitest';
import { copy } from '../../src/api/copy.ts';
import { type TestSchema, testSchema } from '../support/postgres.ts';
import { changeMirror, EXPORTED, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';

/** There, the clocks have columns of their own, which say who may write. */
const ALIKE = EXPORTED.filter(({ name }) => name !== 'mirror_environments');

describe('a mirror in PostgreSQL', () => {
  let place: TestSchema;
  let expected = '';

  beforeAll(async () => {
    place = await testSchema();
    const mirror = makeAwkwardMirror();
    changeMirror(mirror);
    expected = writeExpected(mirror, ALIKE);
    mirror.connection.close();
    await copy({ db: mirror.path, to: place.url });
  });
  afterAll(() => place.drop());

  test('psycopg reads every mirrored table and view as SQLite does, with the types of the columns', async () => {
    await expectReads('postgresql.py', expected, place.serverUrl, place.schema, 'psycopg');
  });

  test('SQLAlchemy reads the same, and finds the types, keys and comments of the dictionary', async () => {
    await expectReads('postgresql.py', expected, place.serverUrl, place.schema, 'sqlalchemy');
  });
});
