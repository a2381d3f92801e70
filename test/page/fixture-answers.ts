import type { FailingNow, FailingSubTest, MirrorTrust, StreamTrust } from '../../src/page-data/page-data.ts';

export const NOW = '2026-11-20T12:00:00.000000Z';

export const streamTrust = (name: string, more: Partial<StreamTrust> = {}): StreamTrust => ({
  stream: name,
  rows: 1200,
  complete_at: '2026-11-20T11:55:00.000000Z',
  mode: 'feed',
  reason: 'usual',
  status: 'done',
  error: null,
  ended_at: '2026-11-20T11:55:00.000000Z',
  held_count: 0,
  rejected_count: 0,
  gap_count: 0,
  ...more,
});

/** A mirror of two environments, one of which has problems. */
export const mirrorTrust = (more: Partial<MirrorTrust> = {}): MirrorTrust => ({
  now: NOW,
  limited_to: null,
  last_run: {
    run: 7,
    status: 'done',
    started_at: '2026-11-20T11:54:00.000000Z',
    ended_at: '2026-11-20T11:55:00.000000Z',
    requests: 69,
    error: null,
  },
  last_verify: { ended_at: '2026-11-19T12:00:00.000000Z', equal: true, difference_count: 0 },
  quota: { limit: 5000, window_seconds: 3600, remaining: 4931, noted_at: '2026-11-20T11:55:00.000000Z' },
  environments: [
    {
      env_id: 'prod',
      name: 'Production',
      cron: '0 * * * *',
      missing_since: null,
      complete_at: '2026-11-20T11:55:00.000000Z',
      pruned: [],
      has_views: true,
      denied_scopes: [],
      streams: [
        streamTrust('assets'),
        streamTrust('columns', { held_count: 12 }),
        streamTrust('tests', { status: 'failed', error: 'HTTP 500' }),
      ],
    },
    {
      env_id: 'staging',
      name: 'Staging',
      cron: null,
      missing_since: null,
      complete_at: '2026-11-20T10:00:00.000000Z',
      pruned: [],
      has_views: true,
      denied_scopes: ['tests'],
      streams: [streamTrust('assets'), streamTrust('columns')],
    },
  ],
  ...more,
});

export const failingSubTest = (name: string, more: Partial<FailingSubTest> = {}): FailingSubTest => ({
  test_id: `test.${name}`,
  test_name: name,
  test_type: 'not_null',
  severity: 'ERROR',
  sub_test_unique_id: `sub.${name}`,
  column_name: 'order_id',
  quality_dimension: 'completeness',
  status: 'FAIL',
  failure_count: 123,
  result_reason: 'FAILED',
  exception: null,
  since: '2026-11-18T12:00:00.000000Z',
  asset: { id: 'model.orders', name: 'orders', kind: 'table' },
  owners: ['ana'],
  downstream_count: 14,
  downstream_bi_count: 3,
  downstream_cut: false,
  cause: null,
  history: ['PASS', 'PASS', 'WARN', 'FAIL', 'ERROR', 'FAIL'].map((status, i) => ({
    start_time: `2026-11-${14 + i}T12:00:00.000000Z`,
    status,
  })),
  ...more,
});

/** The answer if these fail or, without any, if these others do not. */
export const failingNow = (
  rows: readonly FailingSubTest[],
  others: FailingNow['others'] = { passed: 1, without_verdict: 0 },
): FailingNow => ({ total: rows.length, others: rows.length === 0 ? others : null, rows });
