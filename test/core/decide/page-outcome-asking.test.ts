import { describe, expect, test } from 'vitest';
import type { Checkpoint, LookupRead, Read, Round } from '../../../src/core/checkpoint.ts';
import { type PageOutcome, pageOutcome } from '../../../src/core/decide/page-outcome.ts';
import { decodeRead } from '../../../src/core/decode/decode-slices.ts';
import { MAX_LEVELS } from '../../../src/core/decode/nesting.ts';
import type { Row, StreamName } from '../../../src/core/stream.ts';
import { ask, column, context, inRead, read, streamOf, T, walk, YESTERDAY } from '../setup.ts';

interface Given {
  readonly read?: Partial<Read>;
  readonly round?: Partial<Round>;
  readonly checkpoint?: Partial<Checkpoint>;
  readonly held?: readonly Row[];
  readonly more?: boolean;
}

const NOTHING = { rows: [], rejected: [] };

/** The commit of a stream's page, by default the last one of its read. */
function commitOf(name: StreamName, items: readonly unknown[], given: Given = {}): PageOutcome['commit'] {
  const stream = streamOf(name);
  const under = inRead({ mode: 'scan', steps: [walk('scan')], ...given.round, read: read(given.read) });
  const from = { ...under, ...given.checkpoint, round: under.round };
  const page = { items, hasMore: given.more ?? false, nextCursor: given.more ? 'c2' : null };
  const existing = new Map((given.held ?? []).map((row) => [String(row['id']), row]));
  const [decoded = NOTHING] = decodeRead(stream, from.round.read, items, context());
  return pageOutcome(
    { stream, checkpoint: from, page, decoded, existing, visitedCursors: new Set(), markableStreams: new Set() },
    context(),
  ).commit;
}

const asking = (readStep: LookupRead, more: Partial<Round> = {}): Given => ({
  read: { as: readStep.about, number: 7 },
  round: { steps: [readStep], lastMark: 9, ...more },
});

describe('the keys seen by a scan that will sweep (R12)', () => {
  const items = [column('c', T), column('d', null, { deleted_at: YESTERDAY }), { id: 'e' }, { name: 'f' }];

  test('they are those of live rows, and of rejected rows that have a key', () => {
    expect(commitOf('columns', items, { round: { sweeps: true } }).seen).toEqual({
      keys: [['c'], ['e']],
      readNumber: 1,
    });
  });

  test('none are recorded if nothing can be swept, or by the feeds', () => {
    expect(commitOf('columns', items).seen).toBeUndefined();
    expect(commitOf('columns', items, { read: { as: 'tombstones' }, round: { sweeps: true } }).seen).toBeUndefined();
    expect(commitOf('columns', items, { read: { as: 'upserts' }, round: { sweeps: true } }).seen).toBeUndefined();
  });
});

describe('sweep candidates (R12)', () => {
  const readStep = ask('candidates', { ids: ['c', 'd'] });
  const refuted = (items: readonly unknown[]) =>
    commitOf('columns', items, asking(readStep, { sweeps: true })).checkpoint.round?.sweepContradicted;

  test('a returned candidate contradicts the sweep, even if it is rejected', () => {
    expect(refuted([column('c', YESTERDAY)])).toBe(true);
    expect(refuted([{ id: 'c' }])).toBe(true);
  });

  test('a candidate that is missing, or returned as deleted, doesn’t contradict the sweep', () => {
    expect(refuted([])).toBe(false);
    expect(refuted([column('c', null, { deleted_at: YESTERDAY })])).toBe(false);
  });

  test('an item without a key doesn’t contradict the sweep', () => {
    expect(refuted([{ name: 'c' }, 7])).toBe(false);
  });

  test('the lookup of candidates makes no row absent and clears no mark (R13)', () => {
    expect(commitOf('columns', [], asking(readStep))).not.toHaveProperty('sweptRows');
    expect(commitOf('columns', [], asking(readStep))).not.toHaveProperty('clearedMarks');
  });

  test('a row returned by any other read doesn’t contradict the sweep', () => {
    expect(commitOf('columns', [column('c', YESTERDAY)]).checkpoint.round?.sweepContradicted).toBe(false);
  });

  test('a contradiction holds for the rest of the round', () => {
    expect(
      commitOf('columns', [], asking(readStep, { sweepContradicted: true })).checkpoint.round?.sweepContradicted,
    ).toBe(true);
  });

  test('candidates of tests are looked up with both values of disabled before the next chunk', () => {
    const first = commitOf('tests', [], asking({ ...readStep, asked: 1 })).checkpoint.round;
    expect(first).toMatchObject({ read: null, steps: [{ ids: ['c', 'd'], variant: 1, asked: 1 }] });
    const second = commitOf('tests', [], asking({ ...readStep, variant: 1 })).checkpoint.round;
    expect(second?.steps).toEqual([{ ...readStep, ids: [], variant: 0, after: 'd' }]);
  });
});

describe('the children of a deleted or restored parent (R13)', () => {
  const readStep = ask('owned', { ids: ['a', 'b'], firstRead: 7 });

  test('children that are not returned become absent, and the marks of their parents are cleared', () => {
    const commit = commitOf('columns', [column('c', YESTERDAY)], asking(readStep));
    expect(commit).toMatchObject({
      sweptRows: { by: 'asset_id', ids: ['a', 'b'], sinceRead: 7, at: T, isConfirmed: false },
      clearedMarks: { ids: ['a', 'b'], lastMark: 9 },
      seen: { keys: [['c']], readNumber: 7 },
    });
  });

  test('children of a live parent become absent only if its own list returns it afterwards (R13)', () => {
    const commit = commitOf(
      'columns',
      [{ id: 'a' }],
      asking(ask('unshown', { ids: ['a', 'b'], pendingIds: ['a', 'b'] })),
    );
    expect(commit).toMatchObject({
      sweptRows: { by: 'asset_id', ids: ['a'], sinceRead: 1, isConfirmed: true },
      clearedMarks: { ids: ['a'], lastMark: 9 },
      leftMarks: { ids: ['b'], lastMark: 9, run: 5, makes: false },
    });
  });

  test('a parent that its own list returns counts as returned even if it is rejected (R20)', () => {
    let nested: unknown = [];
    for (let level = 0; level <= MAX_LEVELS; level++) nested = [nested];
    const parent = { id: 'a', nested };
    const commit = commitOf('columns', [parent], asking(ask('unshown', { ids: ['a', 'b'], pendingIds: ['a', 'b'] })));
    expect(commit).toMatchObject({ clearedMarks: { ids: ['a'] }, leftMarks: { ids: ['b'] } });
  });

  test('nothing becomes absent while the read has more pages', () => {
    expect(commitOf('columns', [], { ...asking(readStep), more: true })).not.toHaveProperty('sweptRows');
    expect(commitOf('columns', [], { ...asking(readStep), more: true })).not.toHaveProperty('clearedMarks');
  });

  test('tests become absent only if neither of the two lists returned them', () => {
    expect(commitOf('tests', [], asking(readStep))).not.toHaveProperty('sweptRows');
    const last = asking({ ...readStep, variant: 1, firstRead: 6 });
    expect(commitOf('tests', [], last).sweptRows?.sinceRead).toBe(6);
  });

  test('the mark of a parent stays if a newer tombstone keeps a returned child deleted (R13)', () => {
    const dead = { ...column('c', YESTERDAY), asset_id: 'a', deleted_at: T, deletion: 'tombstone' } as Row;
    const commit = commitOf('columns', [column('c', YESTERDAY), column('d', T)], { ...asking(readStep), held: [dead] });
    expect(commit).toMatchObject({
      clearedMarks: { ids: ['b'], lastMark: 9 },
      leftMarks: { ids: ['a'], lastMark: 9, run: 5, makes: false },
    });
  });

  test('a scan marks the parent of a returned child that a newer tombstone keeps deleted (R13)', () => {
    const dead = { ...column('c', YESTERDAY), asset_id: 'a', deleted_at: T, deletion: 'tombstone' } as Row;
    const shown = [column('c', YESTERDAY), column('d', T)];
    expect(commitOf('columns', shown, { held: [dead] }).leftMarks).toEqual({
      ids: ['a'],
      lastMark: 0,
      run: 5,
      makes: true,
    });
    expect(commitOf('columns', shown, { held: [dead], read: { as: 'upserts' } })).not.toHaveProperty('leftMarks');
  });

  test('the mark also stays if an earlier page or list returned that child', () => {
    const dead = { ...column('c', YESTERDAY), asset_id: 'a', deleted_at: T, deletion: 'tombstone' } as Row;
    const first = commitOf('columns', [column('c', YESTERDAY)], { ...asking(readStep), held: [dead], more: true });
    const [left] = first.checkpoint.round.steps as [LookupRead];
    expect(commitOf('columns', [], asking(left)).leftMarks?.ids).toEqual(['a']);
  });

  test('children are deleted at the mirror’s own time if there is no Date (R1)', () => {
    const commit = commitOf('columns', [], { ...asking(readStep), read: { as: 'owned', at: null } });
    expect(commit).toMatchObject({ sweptRows: { at: null } });
    expect(commit).toHaveProperty('clearedMarks');
  });
});

describe('the lookup of rejected rows (R20)', () => {
  const readStep = ask('rejected', { ids: ['c', 'd'], pendingIds: ['c', 'd'] });

  test('a row is gone once every list that may hold it was read, unless it was rejected again meanwhile', () => {
    expect(commitOf('columns', [], { ...asking(readStep), more: true })).not.toHaveProperty('notShown');
    expect(commitOf('columns', [], asking(readStep)).notShown).toEqual({ ids: ['c', 'd'], since: 5 });
    expect(commitOf('tests', [], asking(readStep))).not.toHaveProperty('notShown');
    expect(commitOf('tests', [], asking({ ...readStep, variant: 1 })).notShown?.ids).toEqual(['c', 'd']);
  });

  test('a returned row that its tombstone beats is neither accepted nor gone', () => {
    const dead = { ...column('c', YESTERDAY), deleted_at: T, deletion: 'tombstone' } as Row;
    const commit = commitOf('columns', [column('c', YESTERDAY)], { ...asking(readStep), held: [dead] });
    expect(commit).toMatchObject({ returnedKeys: [], notShown: { ids: ['d'] } });
  });

  test('a returned row is accepted as from a scan, or rejected again', () => {
    const commit = commitOf('columns', [column('c', YESTERDAY), { id: 'd' }], asking(readStep));
    expect(commit).toMatchObject({
      returnedKeys: [['c']],
      changes: [{ kind: 'inserted' }],
      rejected: [{ rowKey: 'd' }],
    });
  });
});

describe('the lookup of suspect rows', () => {
  const readStep = ask('suspect', { ids: ['c', 'd', 'e'], pendingIds: ['d', 'e'], firstRead: 7 });
  const item = column('c', YESTERDAY);
  const right = { ...(column('c', YESTERDAY) as Row), data_type: null, extra: null, deleted_at: null, deletion: null };
  const FUTURE = '2036-01-01T00:00:00.000000Z';

  test.each([
    ['a wrong name', { name: 'wrong' }, 'updated'],
    ['a newer time', { synced_at: T }, 'updated'],
    ['a time in the future', { synced_at: FUTURE }, 'updated'],
    ['no time', { synced_at: null }, 'updated'],
    ['a tombstone of just now', { deleted_at: T, deletion: 'tombstone' }, 'restored'],
    ['a tombstone in the future', { deleted_at: FUTURE, deletion: 'tombstone' }, 'restored'],
    ['an absence', { deleted_at: T, deletion: 'absent' }, 'restored'],
  ])('the response wins over %s in the mirror (R10)', (_what, wrong, kind) => {
    const commit = commitOf('columns', [item], { ...asking(readStep), held: [{ ...right, ...wrong }] });
    expect(commit.changes).toEqual([{ row: right, kind }]);
  });

  test('a correct row is not written (R21)', () => {
    expect(commitOf('columns', [item], { ...asking(readStep), held: [right] }).changes).toEqual([]);
  });

  test('only extra rows that no page returns become absent (R14)', () => {
    const first = commitOf('columns', [column('d', T)], { ...asking(readStep), more: true });
    expect(first).not.toHaveProperty('sweptRows');
    expect(first.checkpoint.round.steps).toEqual([{ ...readStep, pendingIds: ['e'] }]);
    const [left] = first.checkpoint.round.steps as [LookupRead];
    expect(commitOf('columns', [], asking(left)).sweptRows).toEqual({
      ...{ by: 'id', ids: ['e'], sinceRead: 7, at: T, isConfirmed: true },
    });
  });

  test('an extra row that is returned but rejected stays (R20)', () => {
    const commit = commitOf('columns', [{ id: 'd' }], asking(readStep));
    expect(commit).toMatchObject({ rejected: [{ rowKey: 'd' }], sweptRows: { ids: ['e'] } });
  });

  test('an extra test becomes absent only if neither of the two lists returns it (R12)', () => {
    const first = commitOf('tests', [], asking(readStep));
    expect(first).not.toHaveProperty('sweptRows');
    const [second] = first.checkpoint.round.steps as [LookupRead];
    expect(commitOf('tests', [], asking(second)).sweptRows).toMatchObject({ ids: ['d', 'e'], sinceRead: 7 });
  });
});

describe('typed assets fill in rows of the assets stream (R22)', () => {
  const item = {
    ...{ id: 'a', name: 'renamed', kind: 'table', source_type: 'dbt', synced_at: T, size: 3 },
    ...{ data_platform: 'snowflake', db_name: 'p', schema_name: 's', table_name: 't', materialization: 'view' },
  };
  const held = { id: 'a', name: 'a', kind: 'table', synced_at: YESTERDAY, deleted_at: null, deletion: null };
  const changed = (row: Row) => commitOf('table_assets', [item], { held: [row] }).changes;

  test('a typed row writes only the fields of its kind and extra (R19)', () => {
    const written = {
      data_platform: 'snowflake',
      db_name: 'p',
      schema_name: 's',
      table_name: 't',
      materialization: 'view',
    };
    expect(changed(held)).toEqual([{ row: { ...held, ...written, extra: '{"size":3}' }, kind: 'updated' }]);
  });

  test('a typed row that changes nothing is not written (R21)', () => {
    const [change] = changed(held) ?? [];
    expect(changed(change?.row as Row)).toEqual([]);
  });

  test.each([
    ['deleted', { ...held, deleted_at: YESTERDAY, deletion: 'tombstone' }],
    ['of another kind', { ...held, kind: 'bi' }],
    ['unknown', { ...held, id: 'b' }],
  ])('a typed row writes nothing if the asset is %s', (_, row) => {
    expect(changed(row)).toEqual([]);
  });

  test('a typed row clears its mark, whenever that was made', () => {
    expect(commitOf('table_assets', [item], { more: true }).clearedMarks).toEqual({ ids: ['a'], lastMark: null });
  });

  test('the last response by id clears no other mark, because a row it lacks may be out of sight (R18)', () => {
    const commit = commitOf('table_assets', [item], asking(ask('marked', { ids: ['a', 'b'] })));
    expect(commit.clearedMarks).toEqual({ ids: ['a'], lastMark: null });
  });
});

describe('a typed row read within the overlap of its asset’s change (R22)', () => {
  const filled = { data_platform: 'x', db_name: 'p', schema_name: 's', table_name: 't', materialization: 'view' };
  const item = { id: 'a', name: 'a', kind: 'table', source_type: 'dbt', synced_at: YESTERDAY, ...filled };
  const held = { id: 'a', name: 'a', kind: 'table', synced_at: T, deleted_at: null, ...filled, data_platform: 'newer' };
  const leftMarks = { ids: ['a'], lastMark: 9, run: 5, makes: false };
  const answered = (as: Read['as'], row: Row, shown: object = item) =>
    commitOf('table_assets', [shown], { ...asking(ask('marked', { ids: ['a'] })), read: { as }, held: [row] });

  test.each(['upserts', 'scan', 'marked'] as const)('it is written, and its mark stays for one more read: %s', (as) => {
    const commit = answered(as, held, { ...item, synced_at: T });
    expect(commit).toMatchObject({ changes: [{ row: filled }], clearedMarks: { ids: [] }, leftMarks });
  });

  test.each(['upserts', 'scan', 'marked'] as const)(
    'an earlier version doesn’t overwrite filled fields, and the mark stays: %s',
    (as) => {
      expect(answered(as, held)).toMatchObject({ changes: [], clearedMarks: { ids: [] }, leftMarks });
    },
  );

  test('an earlier version fills in a row without fields, and the mark stays', () => {
    const commit = answered('marked', { ...held, schema_name: null });
    expect(commit).toMatchObject({ changes: [{ row: filled }], clearedMarks: { ids: [] }, leftMarks });
  });

  test('a first scan marks it only if it returned an earlier version', () => {
    const first = (synced_at: string) =>
      commitOf('table_assets', [{ ...item, synced_at }], { held: [held], checkpoint: { scanEndedCycle: null } });
    expect(first(YESTERDAY).leftMarks).toEqual({ ids: ['a'], lastMark: 0, run: 5, makes: true });
    expect(first(T)).not.toHaveProperty('leftMarks');
  });

  test('after the overlap the row is trusted and its mark cleared, so lookups end (R10)', () => {
    const settled = { ...held, synced_at: '2026-11-20T03:10:00.000000Z' };
    const commit = answered('marked', settled);
    expect(commit).toMatchObject({ changes: [{ row: { data_platform: 'x' } }], clearedMarks: { ids: ['a'] } });
    expect(commit).not.toHaveProperty('leftMarks');
  });

  test('the overlap doesn’t apply if the asset’s own time is missing or untrusted (R10)', () => {
    for (const synced_at of [null, '2026-11-20T06:00:00.000000Z'])
      expect(answered('marked', { ...held, synced_at }).clearedMarks?.ids).toEqual(['a']);
  });
});

describe('the lookup of unreturned rows in their parent’s list (R18)', () => {
  const readStep = ask('unshown', { ids: ['a', 'b'], pendingIds: ['a', 'b'] });
  const answered = (name: StreamName, items: readonly unknown[], given: Given = {}) =>
    commitOf(name, items, { ...asking(readStep), ...given });

  test('a mark waits for another run if the parent’s list doesn’t return the row either', () => {
    expect(answered('column_lineage', [{ id: 'a' }]).leftMarks).toEqual({
      ids: ['b'],
      lastMark: 9,
      run: 5,
      makes: true,
    });
    expect(answered('column_lineage', [{ id: 'a' }, { id: 'b' }])).not.toHaveProperty('leftMarks');
  });

  test('marks that were not looked up wait too, unless the parent’s list returned all the others (R18)', () => {
    const refuted = (ids: readonly string[]) =>
      answered(
        'column_lineage',
        ids.map((id) => ({ id })),
      ).checkpoint.round?.sweepContradicted;
    expect([refuted(['a']), refuted(['a', 'b'])]).toEqual([true, false]);
  });

  test('nothing else of the parent’s list is used', () => {
    const {
      returnedKeys,
      checkpoint: after,
      leftMarks,
      ...rest
    } = answered('table_assets', [{ id: 'a' }, { nonsense: 1 }]);
    expect([returnedKeys, leftMarks?.ids, rest]).toEqual([[], ['b'], { kind: 'page' }]);
    expect(after.round?.steps[0]).toMatchObject({ after: 'b', ids: [], pendingIds: [] });
  });

  test('each page settles the rows that it returns', () => {
    const page = answered('column_lineage', [{ id: 'a' }], { more: true });
    expect(page).not.toHaveProperty('leftMarks');
    expect(page.checkpoint.round?.steps[0]).toMatchObject({ ids: ['a', 'b'], pendingIds: ['b'] });
  });
});

describe('a staged row (R16)', () => {
  const edge = { upstream_column_id: 'u', downstream_column_id: 'd' };
  const run = {
    ...{ id: 'run-1', test_id: 't', sub_test_unique_id: 's', sub_type: 'rows', status: 'PASS' },
    ...{ failure_count: null, start_time: YESTERDAY, duration_seconds: 1 },
  };

  test('it is staged under the number of its read, and a rejected row counts as seen (R7, R12)', () => {
    const commit = commitOf('asset_lineage', [{ upstream_asset_id: 'u', downstream_asset_id: 'd' }], {
      read: { number: 4 },
    });
    expect(commit.staged).toMatchObject({ rows: [{ key: ['u', 'd'] }], readNumber: 4 });
    expect(commit.seen).toBeUndefined();
    const bad = commitOf('latest_test_executions', [{ sub_test_unique_id: 's' }], { read: { number: 4 } });
    expect(bad.seen).toEqual({ keys: [['s']], readNumber: 4 });
  });

  test('it leaves the marks to the end of the round (R18)', () => {
    const commit = commitOf('column_lineage', [edge], asking(ask('marked', { ids: ['d'] })));
    expect(commit).not.toHaveProperty('clearedMarks');
  });

  test('an execution is written to the history table at once (R17)', () => {
    expect(commitOf('latest_test_executions', [run]).archived).toHaveLength(1);
    expect(commitOf('column_lineage', [edge])).not.toHaveProperty('archived');
  });

  test('the row of a history goes to its own table, and the end of the history is recorded (R17, R22)', () => {
    const history = { testId: 't', mirroredAt: YESTERDAY, wasRead: true, through: null, gaps: [] };
    const given: Given = {
      read: { as: 'tests', history },
      round: { mode: 'window', steps: [ask('tests', { ids: ['t'] })], consecutiveNotFound: 3 },
    };
    const commit = commitOf('test_executions', [run], given);
    expect(commit).toMatchObject({ archived: [{ key: ['s', 'run-1'] }], historyRead: { ...history, readAt: T } });
    expect(commit.checkpoint.round).toMatchObject({ consecutiveNotFound: 0, steps: [{ after: 't', ids: [] }] });
    expect(commitOf('test_executions', [run], { ...given, more: true })).not.toHaveProperty('historyRead');
    const dateless = { ...given, read: { ...given.read, at: null } };
    expect(commitOf('test_executions', [run], dateless)).not.toHaveProperty('historyRead');
  });
});
