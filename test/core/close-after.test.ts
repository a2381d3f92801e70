import { describe, expect, test } from 'vitest';
import { closeAfter } from '../../src/core/close-after.ts';
import { translateErrors } from '../../src/core/errors.ts';

describe('closeAfter', () => {
  const steps: string[] = [];
  const open = { name: 'file', close: async () => void steps.push('closed') };

  test('it closes what was used once the work has ended', async () => {
    const done = closeAfter(open, async ({ name }) => steps.push(`used ${name}`));
    await expect(done).resolves.toBe(1);
    expect(steps.splice(0)).toEqual(['used file', 'closed']);
  });

  test('it closes what was used if the work fails, and throws its error', async () => {
    await expect(closeAfter(open, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(steps.splice(0)).toEqual(['closed']);
  });
});

test('translateErrors throws another error for that of a promise', async () => {
  await expect(translateErrors(Promise.resolve(7), () => new Error('not called'))).resolves.toBe(7);
  const failed = translateErrors(Promise.reject(new Error('no')), (cause) => new Error('why', { cause }));
  await expect(failed).rejects.toMatchObject({ message: 'why', cause: { message: 'no' } });
});
