import { expect } from 'vitest';
import { assets, columns, environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { rootToken } from '../../src/server/access.ts';
import { asset, column, insert, NOW, restricted, run, type Served, serve, test_ } from './fixture.ts';

const KEYS = [
  rootToken('all', 'secret'),
  restricted('limited', { environments: new Set(['e']), scopes: new Set(['tests']) }),
];

/** A server over a small world with as many live rows as deleted ones, until the suite ends. */
export const serveSmallWorld = (): Served =>
  serve(
    ({ db }) => {
      insert(db, environments, [
        { id: 'f', name: 'F', mirrored_at: NOW },
        { id: 'unlisted', name: 'U', missing_since: NOW, mirrored_at: NOW },
      ]);
      insert(db, assets, [
        asset('a'),
        asset('b'),
        asset('bi', { kind: 'bi', bi_platform: 'looker', bi_type: 'look' }),
        asset('gone', { deleted_at: NOW, deletion: 'tombstone' }),
        ...['a', 'b'].map((id) => asset(id, { env_id: 'f' })),
      ]);
      insert(db, columns, [column('a'), column('b'), column('gone', { deleted_at: NOW, deletion: 'tombstone' })]);
      insert(db, tests, [
        test_('t'),
        test_('u'),
        test_('off', { disabled: 1 }),
        test_('gone', { deleted_at: NOW, deletion: 'tombstone' }),
      ]);
      const runs = ['t', 'u', 'gone'].flatMap((test_id) =>
        [1, 2].map((n) => run(`${test_id}${n}`, { test_id, sub_test_unique_id: `${test_id}${n}` })),
      );
      insert(db, testExecutions, runs);
      insert(db, latestTestExecutions, runs);
    },
    { keys: () => KEYS },
  );

/** What no answer may reveal: SQL, file paths, stack traces. */
const INSIDES = /select |sqlite|json_each|node_modules|\/work|\/tmp|\/src\/|\.[jt]s\b|\n\s*at /i;

/** Checks that the body is exactly the error envelope and reveals nothing internal. @returns its message */
export function expectRefusal(answer: { status: number; body: unknown }, status: number, code: string): string {
  expect(answer).toMatchObject({ status, body: { error: { code } } });
  const message = (answer.body as { error: { message: unknown } }).error.message;
  expect(answer.body).toEqual({ error: { code, message: expect.stringMatching(/\S/) } });
  expect(JSON.stringify(answer.body)).not.toMatch(INSIDES);
  return String(message);
}
