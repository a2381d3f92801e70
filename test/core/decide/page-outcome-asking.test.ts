import { describe, expect, test } from 'vitest';
import type { Checkpoint, LookupRead, Read, Round } from '../../../src/core/checkpoint.ts';
import { type PageOutcome, pageOutcome } from '../../../src/core/decide/page-outcome.ts';
import { decodeRead } from '../../../src/core/decode/decode-slices.ts';
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

/** The commit of a page of a stream, the last of its read unless there is more. */
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

describe('keys met by a scan that will sweep (R12)', () => {
  const items = [column('c', T), column('d', null, { deleted_at: YESTERDAY }), { id: 'e' }, { name: 'f' }];

  test('are those of live rows, and of rejected rows that have a key', () => {
    expect(commitOf('columns', items, { round: { sweeps: true } }).seen).toEqual({
      keys: [['c'], ['e']],
      readNumber: 1,
    });
  });

  test('are not kept if nothing can be swept, nor from the feeds', () => {
    expect(commitOf('columns', items).seen).toBeUndefined();
    expect(commitOf('columns', items, { read: { as: 'tombstones' }, round: { sweeps: true } }).seen).toBeUndefined();
    expect(commitOf('columns', items, { read: { as: 'upserts' }, round: { sweeps: true } }).seen).toBeUndefined();
  });
});

describe('candidates of a sweep (R12)', () => {
  const readStep = ask('candidates', { ids: ['c', 'd'] });
  const refuted = (items: readonly unknown[]) =>
    commitOf('columns', items, asking(readStep, { sweeps: true })).checkpoint.round?.sweepContradicted;

  test('that come back contradict it, even if they are rejected', () => {
    expect(refuted([column('c', YESTERDAY)])).toBe(true);
    expect(refuted([{ id: 'c' }])).toBe(true);
  });

  test('that stay away, or are shown as deleted, do not contradict it', () => {
    expect(refuted([])).toBe(false);
    expect(refuted([column('c', null, { deleted_at: YESTERDAY })])).toBe(false);
  });

  test('are not contradicted by an item without a key', () => {
    expect(refuted([{ name: 'c' }, 7])).toBe(false);
  });

  test('make no row of theirs absent (R13)', () => {
    expect(commitOf('columns', [], asking(readStep))).not.toHaveProperty('sweptRows');
    expect(commitOf('columns', [], asking(readStep))).not.toHaveProperty('clearedMarks');
  });

  test('are not contradicted by any other read', () => {
    expect(commitOf('columns', [column('c', YESTERDAY)]).checkpoint.round?.sweepContradicted).toBe(false);
  });

  test('contradict it for the rest of the round', () => {
    expect(
      commitOf('columns', [], asking(readStep, { sweepContradicted: true })).checkpoint.round?.sweepContradicted,
    ).toBe(true);
  });

  test('of tests are asked for with both values of disabled, then the next chunk', () => {
    const first = commitOf('tests', [], asking({ ...readStep, asked: 1 })).checkpoint.round;
    expect(first).toMatchObject({ read: null, steps: [{ ids: ['c', 'd'], variant: 1, asked: 1 }] });
    const second = commitOf('tests', [], asking({ ...readStep, variant: 1 })).checkpoint.round;
    expect(second?.steps).toEqual([{ ...readStep, ids: [], variant: 0, after: 'd' }]);
  });
});

describe('rows of a parent that went or came back (R13)', () => {
  const readStep = ask('owned', { ids: ['a', 'b'] });

  test('are absent if they are not shown, and the marks of the parents are cleared', () => {
    const commit = commitOf('columns', [column('c', YESTERDAY)], asking(readStep));
    expect(commit).toMatchObject({
      sweptRows: { by: 'asset_id', ids: ['a', 'b'], sinceRead: 7, at: T, isConfirmed: false },
      clearedMarks: { ids: ['a', 'b'], lastMark: 9 },
      seen: { keys: [['c']], readNumber: 7 },
    });
  });

  test('of a live parent are absent if the parent’s own list shows it afterwards; else its mark waits (R13)', () => {
    const commit = commitOf('columns', [{ id: 'a' }], asking(ask('unshown', { ids: ['a', 'b'], unpaid: ['a', 'b'] })));
    expect(commit).toMatchObject({
      sweptRows: { by: 'asset_id', ids: ['a'], sinceRead: 1, isConfirmed: true },
      clearedMarks: { ids: ['a'], lastMark: 9 },
      leftMarks: { ids: ['b'], lastMark: 9, run: 5, makes: false },
    });
  });

  test('are not absent while the read has more pages', () => {
    expect(commitOf('columns', [], { ...asking(readStep), more: true })).not.toHaveProperty('sweptRows');
    expect(commitOf('columns', [], { ...asking(readStep), more: true })).not.toHaveProperty('clearedMarks');
  });

  test('of tests are absent only if neither read showed them', () => {
    expect(commitOf('tests', [], asking(readStep))).not.toHaveProperty('sweptRows');
    const last = asking({ ...readStep, variant: 1 });
    expect(commitOf('tests', [], last).sweptRows?.sinceRead).toBe(6);
  });

  test('leave the mark of the parent if a shown row stays deleted by a newer tombstone (R13)', () => {
    const dead = { ...column('c', YESTERDAY), asset_id: 'a', deleted_at: T, deletion: 'tombstone' } as Row;
    const commit = commitOf('columns', [column('c', YESTERDAY), column('d', T)], { ...asking(readStep), held: [dead] });
    expect(commit).toMatchObject({
      clearedMarks: { ids: ['b'], lastMark: 9 },
      leftMarks: { ids: ['a'], lastMark: 9, run: 5, makes: false },
    });
  });

  test('leave a mark of the parent if a scan shows them, and the scan does not clear it (R13)', () => {
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

  test('leave the mark also if another page or list than the last one has shown them', () => {
    const dead = { ...column('c', YESTERDAY), asset_id: 'a', deleted_at: T, deletion: 'tombstone' } as Row;
    const first = commitOf('columns', [column('c', YESTERDAY)], { ...asking(readStep), held: [dead], more: true });
    const [left] = first.checkpoint.round.steps as [LookupRead];
    expect(commitOf('columns', [], asking(left)).leftMarks?.ids).toEqual(['a']);
  });

  test('are deleted at the mirror’s own time if there is no Date (R1)', () => {
    const commit = commitOf('columns', [], { ...asking(readStep), read: { as: 'owned', at: null } });
    expect(commit).toMatchObject({ sweptRows: { at: null } });
    expect(commit).toHaveProperty('clearedMarks');
  });
});

describe('rejected rows that were asked for (R20)', () => {
  const readStep = ask('rejected', { ids: ['c', 'd'] });

  test('are gone after every list that they may be in was read, unless they came again since the round began', () => {
    expect(commitOf('columns', [], { ...asking(readStep), more: true })).not.toHaveProperty('notShown');
    expect(commitOf('columns', [], asking(readStep)).notShown).toEqual({ ids: ['c', 'd'], since: 5 });
    expect(commitOf('tests', [], asking(readStep))).not.toHaveProperty('notShown');
    expect(commitOf('tests', [], asking({ ...readStep, variant: 1 })).notShown?.ids).toEqual(['c', 'd']);
  });

  test('are accepted as a scan shows them, or stay rejected', () => {
    const commit = commitOf('columns', [column('c', YESTERDAY), { id: 'd' }], asking(readStep));
    expect(commit).toMatchObject({
      returnedKeys: [['c']],
      changes: [{ kind: 'inserted' }],
      rejected: [{ rowKey: 'd' }],
    });
  });
});

describe('typed assets fill rows that the assets stream made (R22)', () => {
  const item = {
    ...{ id: 'a', name: 'renamed', kind: 'table', source_type: 'dbt', synced_at: T, size: 3 },
    ...{ data_platform: 'snowflake', db_name: 'p', schema_name: 's', table_name: 't', materialization: 'view' },
  };
  const held = { id: 'a', name: 'a', kind: 'table', synced_at: YESTERDAY, deleted_at: null, deletion: null };
  const changed = (row: Row) => commitOf('table_assets', [item], { held: [row] }).changes;

  test('with only their own fields and extra (R19)', () => {
    const written = {
      data_platform: 'snowflake',
      db_name: 'p',
      schema_name: 's',
      table_name: 't',
      materialization: 'view',
    };
    expect(changed(held)).toEqual([{ row: { ...held, ...written, extra: '{"size":3}' }, kind: 'updated' }]);
  });

  test('and write nothing that is already there (R21)', () => {
    const [change] = changed(held) ?? [];
    expect(changed(change?.row as Row)).toEqual([]);
  });

  test.each([
    ['gone', { ...held, deleted_at: YESTERDAY, deletion: 'tombstone' }],
    ['of another kind', { ...held, kind: 'bi' }],
    ['unknown', { ...held, id: 'b' }],
  ])('but not where the row is %s', (_, row) => {
    expect(changed(row)).toEqual([]);
  });

  test('and each row clears its mark, whenever that was made', () => {
    expect(commitOf('table_assets', [item], { more: true }).clearedMarks).toEqual({ ids: ['a'], lastMark: null });
  });

  test('and the last answer by id clears no other mark, because a row that it does not show may be out of sight (R18)', () => {
    const commit = commitOf('table_assets', [item], asking(ask('marked', { ids: ['a', 'b'] })));
    expect(commit.clearedMarks).toEqual({ ids: ['a'], lastMark: null });
  });
});

describe('a typed row that is younger than the overlap (R22)', () => {
  const filled = { data_platform: 'x', db_name: 'p', schema_name: 's', table_name: 't', materialization: 'view' };
  const item = { id: 'a', name: 'a', kind: 'table', source_type: 'dbt', synced_at: YESTERDAY, ...filled };
  const held = { id: 'a', name: 'a', kind: 'table', synced_at: T, deleted_at: null, ...filled, data_platform: 'newer' };
  const leftMarks = { ids: ['a'], lastMark: 9, run: 5, makes: false };
  const answered = (as: Read['as'], row: Row, shown: object = item) =>
    commitOf('table_assets', [shown], { ...asking(ask('marked', { ids: ['a'] })), read: { as }, held: [row] });

  test.each(['upserts', 'scan', 'marked'] as const)('is written, and its mark stays for one more read: %s', (as) => {
    const commit = answered(as, held, { ...item, synced_at: T });
    expect(commit).toMatchObject({ changes: [{ row: filled }], clearedMarks: { ids: [] }, leftMarks });
  });

  test.each(['upserts', 'scan', 'marked'] as const)('takes no field back in an earlier version: %s', (as) => {
    expect(answered(as, held)).toMatchObject({ changes: [], clearedMarks: { ids: [] }, leftMarks });
  });

  test('in an earlier version fills a row without fields, and keeps its mark', () => {
    const commit = answered('marked', { ...held, schema_name: null });
    expect(commit).toMatchObject({ changes: [{ row: filled }], clearedMarks: { ids: [] }, leftMarks });
  });

  test('is marked by the first scan only if that shows an earlier version', () => {
    const first = (synced_at: string) =>
      commitOf('table_assets', [{ ...item, synced_at }], { held: [held], checkpoint: { scanEndedCycle: null } });
    expect(first(YESTERDAY).leftMarks).toEqual({ ids: ['a'], lastMark: 0, run: 5, makes: true });
    expect(first(T)).not.toHaveProperty('leftMarks');
  });

  test('is believed after the overlap, so that no row is asked for for ever (R10)', () => {
    const settled = { ...held, synced_at: '2026-11-20T03:10:00.000000Z' };
    const commit = answered('marked', settled);
    expect(commit).toMatchObject({ changes: [{ row: { data_platform: 'x' } }], clearedMarks: { ids: ['a'] } });
    expect(commit).not.toHaveProperty('leftMarks');
  });

  test('is not young if the row’s own time is missing or not believed (R10)', () => {
    for (const synced_at of [null, '2026-11-20T06:00:00.000000Z'])
      expect(answered('marked', { ...held, synced_at }).clearedMarks?.ids).toEqual(['a']);
  });
});

describe('rows that no read has shown are asked for in the parent’s list (R18)', () => {
  const readStep = ask('unshown', { ids: ['a', 'b'], unpaid: ['a', 'b'] });
  const answered = (name: StreamName, items: readonly unknown[], given: Given = {}) =>
    commitOf(name, items, { ...asking(readStep), ...given });

  test('a mark waits for another run if that list does not show the row either', () => {
    expect(answered('column_lineage', [{ id: 'a' }]).leftMarks).toEqual({
      ids: ['b'],
      lastMark: 9,
      run: 5,
      makes: true,
    });
    expect(answered('column_lineage', [{ id: 'a' }, { id: 'b' }])).not.toHaveProperty('leftMarks');
  });

  test('rows that are not asked for wait as well, or are believed if that list shows all others (R18)', () => {
    const refuted = (ids: readonly string[]) =>
      answered(
        'column_lineage',
        ids.map((id) => ({ id })),
      ).checkpoint.round?.sweepContradicted;
    expect([refuted(['a']), refuted(['a', 'b'])]).toEqual([true, false]);
  });

  test('nothing else is used of that list', () => {
    const {
      returnedKeys,
      checkpoint: after,
      leftMarks,
      ...rest
    } = answered('table_assets', [{ id: 'a' }, { nonsense: 1 }]);
    expect([returnedKeys, leftMarks?.ids, rest]).toEqual([[], ['b'], { kind: 'page' }]);
    expect(after.round?.steps[0]).toMatchObject({ after: 'b', ids: [], unpaid: [] });
  });

  test('each page clears the marks of the rows that it shows', () => {
    const page = answered('column_lineage', [{ id: 'a' }], { more: true });
    expect(page).not.toHaveProperty('leftMarks');
    expect(page.checkpoint.round?.steps[0]).toMatchObject({ ids: ['a', 'b'], unpaid: ['b'] });
  });
});

describe('a row that is staged beside its table (R16)', () => {
  const edge = { upstream_column_id: 'u', downstream_column_id: 'd' };
  const run = {
    ...{ id: 'run-1', test_id: 't', sub_test_unique_id: 's', sub_type: 'rows', status: 'PASS' },
    ...{ failure_count: null, start_time: YESTERDAY, duration_seconds: 1 },
  };

  test('is kept under the number of its read, and rejected rows as seen (R7, R12)', () => {
    const commit = commitOf('asset_lineage', [{ upstream_asset_id: 'u', downstream_asset_id: 'd' }], {
      read: { number: 4 },
    });
    expect(commit.staged).toMatchObject({ rows: [{ key: ['u', 'd'] }], readNumber: 4 });
    expect(commit.seen).toBeUndefined();
    const bad = commitOf('latest_test_executions', [{ sub_test_unique_id: 's' }], { read: { number: 4 } });
    expect(bad.seen).toEqual({ keys: [['s']], readNumber: 4 });
  });

  test('leaves the marks to the end of the round (R18)', () => {
    const commit = commitOf('column_lineage', [edge], asking(ask('marked', { ids: ['d'] })));
    expect(commit).not.toHaveProperty('clearedMarks');
  });

  test('is written into the history table at once (R17)', () => {
    expect(commitOf('latest_test_executions', [run]).archived).toHaveLength(1);
    expect(commitOf('column_lineage', [edge])).not.toHaveProperty('archived');
  });

  test('of a history goes into its own table, and the end of the history is recorded (R17, R22)', () => {
    const history = { testId: 't', mirroredAt: YESTERDAY, gap: null };
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
