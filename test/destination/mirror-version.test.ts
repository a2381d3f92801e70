import { expect, test } from 'vitest';
import { refuseNewer, refuseOlder, refuseUnreleased } from '../../src/destination/sql/mirror-version.ts';

const TIMES = { first: 10, last: 20 };

test.each([
  ['a mirror of this release is accepted', 20, [], ''],
  ['a mirror of an older release is not read before it is migrated', 10, ['older'], 'run `obsync sync` once'],
  [
    'a mirror of an unreleased build is neither migrated nor read',
    9,
    ['unreleased', 'older'],
    'name a new mirror with --db',
  ],
  ['a mirror of a newer release is neither migrated nor read', 21, ['newer'], 'update obsync'],
])('%s', (_, found, refused, advice) => {
  const checks = { newer: refuseNewer, unreleased: refuseUnreleased, older: refuseOlder };
  const refusing = Object.entries(checks).filter(([, check]) => {
    try {
      check(found, TIMES, 'm.db');
      return false;
    } catch (error) {
      expect(error).toMatchObject({
        recovery: 'usage',
        message: expect.stringMatching(`^m.db was made by .*${advice}`),
      });
      return true;
    }
  });
  expect(refusing.map(([name]) => name)).toEqual(refused);
});

test('an empty place does not count as a mirror of an unreleased build', () => {
  expect(() => refuseUnreleased(0, TIMES, 'm.db')).not.toThrow();
});
