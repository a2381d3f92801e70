import { expect, test } from 'vitest';
import { chooseEnvironments, noSuchEnvironment, wantedOf } from '../../../src/core/schedule/wanted-environments.ts';

const listed = [
  { id: 'prod', name: 'Production', cron: null },
  { id: 'acme', name: 'Acme, Inc.', cron: null },
  { id: 'same', name: 'same', cron: null },
];

test.each<[string[], string[], string[]]>([
  [[], ['prod', 'acme', 'same'], []],
  [['prod'], ['prod'], []],
  [['Production', 'same'], ['prod', 'same'], []],
  [['prod, same'], ['prod', 'same'], []],
  [['Acme, Inc.'], ['acme'], []],
  [['prod,nope', 'x'], ['prod'], ['nope', 'x']],
])(
  '%j selects %j and misses %j: by id or name, separated by commas unless a name contains them',
  (asked, ids, unknown) => {
    const wanted = wantedOf(listed, asked);
    expect({ ...wanted, chosen: wanted.chosen.map(({ id }) => id) }).toEqual({ chosen: ids, unknown });
  },
);

test('the error for an unknown environment names up to twenty listed ids and names', () => {
  expect(noSuchEnvironment(['x', 'y'], listed)).toMatchObject({
    recovery: 'usage',
    message: 'no environment x, y: the token sees prod (Production), acme (Acme, Inc.), same',
  });
  expect(noSuchEnvironment(['x'], []).message).toBe('no environment x: the token sees none');
  const many = Array.from({ length: 25 }, (_, i) => ({ id: `e${i}`, name: `e${i}`, cron: null }));
  expect(noSuchEnvironment(['x'], many).message).toMatch(/e18, e19 and 5 more$/);
});

test('without a selection all listed environments are read, and there must be at least one', () => {
  expect(chooseEnvironments(listed, [])).toEqual(listed);
  expect(() => chooseEnvironments(listed, ['x'])).toThrow(expect.objectContaining({ recovery: 'usage' }));
  expect(() => chooseEnvironments([], [])).toThrow(expect.objectContaining({ recovery: 'run' }));
});
