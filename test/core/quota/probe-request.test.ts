import { expect, test } from 'vitest';
import { listAt } from '../../../src/core/quota/outage.ts';
import { probeRequest } from '../../../src/core/quota/probe-request.ts';

const LISTS = [['assets'], ['assets', 'tables'], ['columns']];
const elsewhere = (environments: string[], ...avoid: string[][]) => ({
  environments,
  lists: LISTS,
  avoid: avoid.map(listAt),
});
const pathAt = (turn: number, where: ReturnType<typeof elsewhere>) => probeRequest(turn, where, ['e1', 'own']).path;

test('a probe asks for one row of one list (R24)', () => {
  expect(probeRequest(0, elsewhere(['e1']), ['e1', 'own'])).toEqual({
    path: ['e1', 'assets'],
    query: { limit: 1 },
    cursor: null,
  });
});

test('each probe requests a different list of a different environment until all have been tried (R9, R24)', () => {
  const where = elsewhere(['e1', 'e2', 'e3']);
  expect([0, 1, 2, 3].map((turn) => pathAt(turn, where))).toEqual([
    ['e1', 'assets'],
    ['e2', 'assets', 'tables'],
    ['e3', 'columns'],
    ['e1', 'assets', 'tables'],
  ]);
  expect(new Set(Array.from({ length: 9 }, (_, turn) => listAt(pathAt(turn, where)))).size).toBe(9);
});

test('a probe skips lists that failed (R9)', () => {
  expect(pathAt(0, elsewhere(['e1'], ['e1', 'assets'], ['e1', 'assets', 'tables']))).toEqual(['e1', 'columns']);
});

test('if no other list is left, the probe asks its own list for one row', () => {
  expect(pathAt(4, elsewhere(['e1'], ...LISTS.map((list) => ['e1', ...list])))).toEqual(['e1', 'own']);
  expect(pathAt(0, elsewhere([]))).toEqual(['e1', 'own']);
});
