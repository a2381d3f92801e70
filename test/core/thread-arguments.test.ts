import { expect, test } from 'vitest';
import { threadArguments } from '../../src/core/thread-arguments.ts';

test.each([[['--input-type=module', '-e', 'code']], [['--use-system-ca', '--input-type', 'module']]])(
  'the thread of a program given as text gets no arguments of its process: %j',
  (execArgv) => {
    expect(threadArguments(execArgv)).toEqual({ execArgv: [] });
  },
);

test('any other thread gets the arguments of its process', () => {
  expect(threadArguments(['--use-system-ca'])).toEqual({});
});
