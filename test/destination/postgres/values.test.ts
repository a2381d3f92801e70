import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { environments } from '../../../schema/assets.ts';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import { SyncError } from '../../../src/core/errors.ts';
import { sameJson } from '../../../src/core/json.ts';
import type { StreamName } from '../../../src/core/stream.ts';
import { POSTGRES_LIMITS } from '../../../src/destination/postgres/dialect.ts';
import { performOn } from '../../../src/destination/postgres/driver.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import type { SqlStatements } from '../../../src/destination/sql/statements.ts';
import { insertStatement } from '../../../state/state-statements.ts';
import { streamOf } from '../../core/setup.ts';
import { asset, column, test1 } from '../../support/conformance/workbench.ts';
import { pgliteDatabase } from '../../support/pglite-mirror.ts';
import { destinationOf, pgliteMirror } from './setup.ts';

const server = await pgliteMirror('obsync');
const database = pgliteDatabase(server, 'obsync');

describe('same_json of PostgreSQL agrees with sameJson (R21)', () => {
  const same = (one: string, other: string) =>
    database.transaction(async (connection) => {
      const { rows } = await connection.query('select same_json($1, $2) as same', [one, other]);
      return rows[0]?.['same'] === 1;
    });

  test.each([
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"a":1,"b":2}', '{"b":2}'],
    ['[1,2]', '[2,1]'],
    ['1', '1.0'],
    ['1e2', '100'],
    ['-0', '0'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['12345678901234567890', '12345678901234567891'],
    ['12345678901234567890', '12345678901234567890.0'],
    ['{"n":12345678901234567890,"m":1}', '{"m":1,"n":12345678901234567890}'],
    ['0.30000000000000002', '0.30000000000000004'],
    ['0.12345678901234567', '0.123456789012345671'],
    ['[0.12345678901234567]', '[ 0.12345678901234568]'],
    ['1e-7', '0.0000001'],
    ['"\\u0041"', '"A"'],
    ['["\\u0000",1]', '["\\u0000", 1]'],
    ['["\\u0000",1]', '["", 1]'],
    ['["\\\\u0000",1]', '["\\u0000", 1]'],
    ['["\\ud800",1]', '["\\ud801", 1]'],
    ['{"a\\u0000":1,"b":2}', '{"b":2,"a\\u0000":1}'],
    ['{"1":"2"}', '{"1":2}'],
    ['"-1"', '-1'],
    ['null', 'false'],
    ['[]', '{}'],
    ['["a\\"1,2",3]', '[ "a\\"1,2", 3]'],
  ])('same_json and sameJson agree on %s and %s', async (one, other) => {
    expect(await same(one, other)).toBe(sameJson(one, other));
    expect(await same(other, one)).toBe(sameJson(other, one));
  });

  test('same_json and sameJson agree on any two values, also with other member order and whitespace', async () => {
    const pair = fc.tuple(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }));
    await fc.assert(
      fc.asyncProperty(pair, async ([one, other]) => {
        const texts = [JSON.stringify(one), JSON.stringify(reversed(one), null, 1), JSON.stringify(other)] as const;
        expect(await same(texts[0], texts[1])).toBe(sameJson(texts[0], texts[1]));
        expect(await same(texts[0], texts[2])).toBe(sameJson(texts[0], texts[2]));
      }),
      { numRuns: 200 },
    );
  });
});

/** The same value with the members of each object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, each]) => [name, reversed(each)]),
  );
}

test('a time in the year 0 is stored and read back unchanged, even by a statement that names no column', async () => {
  const at = '0000-02-29T23:59:59.000001Z';
  const statements = function* (): SqlStatements<unknown> {
    yield insertStatement(environments, { id: 'e0', name: 'at first', last_synced_at: at, mirrored_at: at });
    return (yield sql`select last_synced_at, mirrored_at from environments where id = 'e0' and mirrored_at <= ${at}`)
      .rows;
  };
  expect(await database.transaction((connection) => performOn(connection, statements()))).toEqual([
    { last_synced_at: at, mirrored_at: at },
  ]);
});

describe('values that PostgreSQL cannot store as they are', () => {
  const on = destinationOf(database_(), { errorOf: (cause) => new SyncError('run', String(cause), { cause }) });

  test.each([
    ['assets', asset('a', { description: 'x\0"\\\ty', tags: ['\0', '\ud800'], unknown: '\0' })],
    ['assets', asset(`b${'k'.repeat(999)}`, { parent_id: 'p'.repeat(1000) })],
    ['columns', column('c', { data_type: '' })],
    ['tests', test1('t', { disabled: true, updated_at: '0000-02-29T01:02:03.4Z' })],
    ['tests', test1('u', { disabled: false, updated_at: '0099-12-31T23:59:59.999999Z' })],
    ['tests', test1('v', { updated_at: '9999-12-31T23:59:59.999999Z', config: { deep: [1.5, 'NULL', null] } })],
  ] as const)('a row of %s is read back as it was decoded: %o', async (name: StreamName, item: object) => {
    const stream = streamOf(name);
    const { rows, rejected } = decodePage(stream, [item], { limits: POSTGRES_LIMITS });
    expect(rejected).toEqual([]);
    const [decoded] = rows;
    const changes = rows.map(({ row }) => ({ kind: 'inserted', row }) as const);
    await on.commit(stream, { kind: 'page', checkpoint: NO_PROGRESS, changes }, new Set());
    const held = await on.existing(stream, [decoded?.key ?? []]);
    expect(held.get(String(decoded?.key[0]))).toMatchObject(decoded?.row ?? {});
  });

  test('a rejected row may have a key of any length, and its reason and payload may contain U+0000 (R20)', async () => {
    const { rejected } = decodePage(streamOf('tests'), [{ id: 'x'.repeat(100_000) }, { id: 'y\0' }, 7], {
      limits: POSTGRES_LIMITS,
    });
    const said = [...rejected, { key: ['z'], rowKey: 'z', reason: 'a\0b', payload: '{"test_id":"\\u0000\\ud800"}' }];
    const stream = streamOf('test_executions');
    for (const _ of [1, 2])
      await on.commit(stream, { kind: 'page', checkpoint: NO_PROGRESS, rejected: said }, new Set());
    expect((await on.outstanding(stream)).rejected).toBe(4);
    // Its payload contains the id of its test.
    expect(
      (await on.dueTests({ limit: 5, run: 2, fresh: null })).filter(({ hasRejected }) => hasRejected === 1),
    ).toEqual([]);
  });
});

/** The database once it is open. */
function database_(): PostgresDatabase {
  return {
    transaction: (work) => database.transaction(work),
    session: (work) => database.session(work),
    close: () => database.close(),
  };
}
