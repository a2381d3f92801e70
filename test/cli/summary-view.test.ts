import { describe, expect, test } from 'vitest';
import { hasSummaryTable, renderSummary } from '../../src/cli/summary-view.ts';
import type { RunSummary, StreamSummary } from '../../src/sync/summary.ts';
import { USUAL_STREAMS } from '../support/catalogue.ts';

const T = '2026-11-20T04:10:00.000000Z';

function streamOf(env: string, stream: StreamSummary['stream'], changed: Partial<StreamSummary> = {}): StreamSummary {
  const counts = {
    requests: 2,
    pages: 2,
    rows_written: 0,
    rows_deleted: 0,
    rows_rejected: 0,
    rows_late: 0,
    rows_held: 0,
    rejected_standing: 0,
  };
  const how = { mode: 'feed', reason: 'increment', status: 'done', seconds: 0.25, error: null } as const;
  return { env_id: env, environment: `Env ${env}`, stream, started_at: T, ended_at: T, ...counts, ...how, ...changed };
}

function summaryOf(streams: readonly StreamSummary[], changed: Partial<RunSummary> = {}): RunSummary {
  return {
    run: 7,
    status: 'done',
    started_at: T,
    ended_at: T,
    requests: 20,
    rows_written: 5,
    rows_deleted: 0,
    rows_rejected: 0,
    streams_not_reached: 0,
    error: null,
    recovery: null,
    missing: [],
    streams,
    ...changed,
  } as RunSummary;
}

const first = { mode: 'scan', reason: 'first', rows_written: 1_234_567, requests: 618 };
const lines = (text: string): string[] => text.split('\n');

describe('the summary of a sync', () => {
  test('it warns if the server times of the responses are more than an hour apart (R1)', () => {
    const text = (clock_spread_seconds: number) =>
      renderSummary(summaryOf([streamOf('e1', 'assets')], { clock_spread_seconds }), null);
    expect(text(3600)).not.toContain('apart');
    expect(text(172_800)).toContain('the Date headers of the responses are up to 48 hours apart');
  });

  test.each([80, 100, 130])(
    'each environment is a table that fits %i columns without truncating stream names',
    (width) => {
      const streams = ['e1', 'e2'].flatMap((env) =>
        USUAL_STREAMS.map((name) => streamOf(env, name, { ...first, rows_deleted: 12 })),
      );
      const text = renderSummary(summaryOf(streams), width);
      expect(text.match(/┌/g)).toHaveLength(2);
      expect(Math.max(...lines(text).map((line) => line.length))).toBeLessThanOrEqual(width);
      expect(text).not.toContain('…');
      expect(lines(text).slice(0, 4)).toEqual([
        'Env e1 (e1)',
        expect.stringMatching(/^┌/),
        expect.stringMatching(/^│ stream +│ mode +│ written │ deleted │/),
        expect.stringMatching(/^├/),
      ]);
      expect(text).toMatch(/│ latest_test_executions │ scan \(first\) │ 1234567 │ +12 │/);
    },
  );

  test('it omits unchanged streams, columns of zeros, and reasons that only repeat the mode', () => {
    const streams = USUAL_STREAMS.map((name) => streamOf('e1', name, name === 'columns' ? { rows_written: 5 } : {}));
    const summary = summaryOf([...streams, ...USUAL_STREAMS.map((name) => streamOf('e2', name))]);
    const text = renderSummary(summary, null);
    expect(lines(text)[2]).toMatch(/^│ stream +│ mode │ written │ requests │ seconds │$/);
    expect(lines(text)[4]).toMatch(/^│ columns │ feed │ +5 │ +2 │ +0\.3 │$/);
    expect(lines(text).slice(6)).toEqual([
      `nothing changed in ${USUAL_STREAMS.length - 1} other streams (--verbose shows them)`,
      '',
      'nothing changed in 1 other environment',
      'run 7 is done: 5 rows written, 0 deleted, 20 requests',
      '',
    ]);
    const all = renderSummary(summary, null, true);
    expect(all.match(/│ assets /g)).toHaveLength(2);
  });

  test('it shows an unfinished stream with its status and error', () => {
    const streams = [streamOf('e1', 'assets'), streamOf('e1', 'tests', { status: 'failed', error: 'answered 500' })];
    const text = renderSummary(summaryOf(streams, { status: 'problems' }), 80);
    expect(text).toMatch(/│ tests +│ feed │ failed │/);
    expect(text).toContain('Env e1, tests: answered 500\nrun 7 ended with problems: ');
  });

  test('it does not list streams that the run did not reach', () => {
    const stopped = USUAL_STREAMS.map((name) => streamOf('e1', name, { status: 'stopped', mode: 'none', pages: 0 }));
    expect(hasSummaryTable(summaryOf(stopped, { status: 'problems', error: 'the file is damaged' }))).toBe(false);
    const begun = [...stopped.slice(1), streamOf('e1', 'assets', { status: 'stopped', rows_written: 3 })];
    const summary = summaryOf(begun, { status: 'stopped', error: 'Stopped at 5 requests (--max-requests)' });
    expect(hasSummaryTable(summary)).toBe(true);
    const text = renderSummary(summary, 80);
    expect(text.match(/^│/gm)).toHaveLength(2);
    expect(text).toContain('run 7 stopped: 5 rows written');
  });
});
