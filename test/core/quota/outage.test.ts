import { describe, expect, test } from 'vitest';
import { isOver, isServiceDown, listAt, listFailed, NO_OUTAGE, probeFailed } from '../../../src/core/quota/outage.ts';

const failing = (...paths: string[]) => paths.reduce((outage, path) => listFailed(outage, path.split('/')), NO_OUTAGE);

describe('isServiceDown (R24)', () => {
  test('three lists that fail one after the other mean that the service is down', () => {
    expect(isServiceDown(failing('e1/assets', 'e1/columns'))).toBe(false);
    expect(isServiceDown(failing('e1/assets', 'e1/columns', 'e2/assets'))).toBe(true);
  });

  test('one list that fails any number of times doesn’t mean that the service is down', () => {
    expect(isServiceDown(failing('e1/assets', 'e1/assets', 'e1/assets', 'e1/assets'))).toBe(false);
  });

  test('the histories of one environment count as one list', () => {
    expect(isServiceDown(failing('e1/tests/a/executions', 'e1/tests/b/executions', 'e1/tests/c/executions'))).toBe(
      false,
    );
    expect(listAt(['e1', 'tests', 'a', 'executions'])).not.toBe(listAt(['e2', 'tests', 'a', 'executions']));
  });

  test('slashes in ids don’t make two lists one', () => {
    expect(listAt(['a/b', 'c'])).not.toBe(listAt(['a', 'b/c']));
  });
});

test('the probe has one attempt plus the retries (R24)', () => {
  const once = probeFailed(failing('e1/assets', 'e1/columns', 'e2/assets'));
  expect([isOver(once, 0), isOver(once, 1), isOver(probeFailed(once), 1)]).toEqual([true, false, true]);
});
