import { expect, test } from 'vitest';
import { endsRun, type RecoveryKind, SyncError } from '../../src/core/errors.ts';

test.each<[RecoveryKind, boolean]>([
  ['restart-read', false],
  ['halve-page', false],
  ['forbidden', false],
  ['not-live', false],
  ['restart-round', false],
  ['stream', false],
  ['run', true],
  ['quota', true],
  ['token', true],
  ['usage', true],
  ['locked', true],
  ['budget', true],
  ['signal', true],
])('a SyncError with recovery %s ends the run: %j (R9)', (recovery, ends) => {
  expect(endsRun(new SyncError(recovery, 'it failed'))).toBe(ends);
});

test('an error of another type doesn’t end the run', () => {
  expect(endsRun(new Error('it failed'))).toBe(false);
  expect(endsRun({ recovery: 'run' })).toBe(false);
});

test('a SyncError has its message and its cause', () => {
  const cause = new Error('refused');
  expect(new SyncError('run', 'it failed', { cause })).toMatchObject({
    name: 'SyncError',
    message: 'it failed',
    cause,
  });
});

test('the message of a SyncError is one line, whatever it quotes', () => {
  expect(new SyncError('run', 'the service\r\nsaid\u2028"no\u001b[2J"').message).toBe('the service said "no [2J"');
});
