import { describe, expect, test } from 'vitest';
import type { Step } from '../support/api-server.ts';
import { failureOf, setUp } from './setup.ts';

const page = (id: string, next: string | null): Step => ({
  body: { items: [{ id }], has_more: next !== null, next_cursor: next },
});
const refused: Step = { status: 400, body: { error: { code: 'invalid_cursor', message: 'as it is' } } };

describe('environments that come in pages (R8)', () => {
  test('are read to the end: what is on a later page is not missing', async () => {
    const { server, source } = await setUp([page('e1', 'x/1'), page('e2', 'x/2'), page('e3', null)]);
    expect(await source.environments()).toEqual([{ id: 'e1' }, { id: 'e2' }, { id: 'e3' }]);
    expect(server.requests.map(({ target }) => target)).toEqual([
      '/public/beta/environments',
      '/public/beta/environments?cursor=x%2F1',
      '/public/beta/environments?cursor=x%2F2',
    ]);
  });

  test.each<[string, Step[]]>([
    ['gives a cursor that it gave before', [page('e1', 'x'), page('e2', 'x')]],
    ['says that there is more but gives no cursor', [{ body: { items: [], has_more: true } }]],
  ])('one that %s ends the run', async (what, steps) => {
    const { source } = await setUp(steps);
    const failure = await failureOf(source.environments());
    expect(failure.recovery).toBe('run');
    expect(failure.message).toContain(what);
  });

  test('begin again at the first page after an invalid_cursor, three times at most (R7)', async () => {
    const again = [page('e1', 'x'), refused, page('e2', 'x'), page('e3', null)];
    const { source } = await setUp(again);
    expect(await source.environments()).toEqual([{ id: 'e2' }, { id: 'e3' }]);
    const never = await setUp([({ target }) => (target.includes('cursor') ? refused : page('e1', 'x'))]);
    expect((await failureOf(never.source.environments())).recovery).toBe('run');
    expect(never.server.requests).toHaveLength(8);
  });
});
