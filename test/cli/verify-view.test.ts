import { expect, test } from 'vitest';
import { renderVerify } from '../../src/cli/verify-view.ts';
import type { StreamReport, VerifyFinding, VerifyReport } from '../../src/verify/verify-report.ts';
import { USUAL_STREAMS } from '../support/catalogue.ts';

const NUMBERS = {
  rows: 1_234_567,
  missing: 0,
  extra: 0,
  unequal: 0,
  possible: 0,
  pending: 0,
  requests: 9,
  error: null,
};
const streams: StreamReport[] = ['prod-analytics', 'staging'].flatMap((environment) =>
  USUAL_STREAMS.map(
    (stream): StreamReport => ({ env_id: environment, environment, stream, status: 'equal', ...NUMBERS }),
  ),
);

function report(changed: Partial<VerifyReport>, ...odd: readonly Partial<StreamReport>[]): VerifyReport {
  return {
    equal: false,
    depth: 'rows',
    server_time: null,
    requests: 42,
    environments: [],
    streams: streams.map((stream, i) => ({ ...stream, ...odd[i] })),
    findings: [],
    possible: [],
    pending: [],
    not_listed: 0,
    not_looked_at: [],
    repair: null,
    error: null,
    recovery: null,
    ...changed,
  };
}

const finding = (what: VerifyFinding['what'], why: string | null = null): VerifyFinding => ({
  env_id: 'e',
  environment: 'staging',
  stream: 'columns',
  what,
  key: what === 'unsynced' ? {} : { id: 'a1.x' },
  fields: [],
  values: [],
  why,
  repaired: false,
});

test('the report of verify fits 80 columns and lists what is not equal', () => {
  const odd = { status: 'different', missing: 3, extra: 1, pending: 12 } as const;
  const lines = renderVerify(report({ findings: [finding('missing')] }, {}, odd), 80).split('\n');
  expect(lines[3]).toMatch(/│ table_assets │ 1234567 │ 3 missing, 1 extra, 12 pending │/);
  expect(lines.slice(0, 5).every((line) => line.length <= 80)).toBe(true);
  expect(lines[5]).toBe(`${streams.length - 1} more streams are equal`);
  expect(lines.at(-2)).toBe(
    'the mirror does not equal the source: 1 difference, 42 requests; run with --repair to fix them',
  );
});

test('the report of verify shows both values of each field that differs, long ones cut', () => {
  const [long, other] = ['x'.repeat(70), `${'x'.repeat(69)}y`];
  const values = [
    { field: 'name', mirror: 'orders', source: 'refunds' },
    { field: 'dimensions.freshness', mirror: null, source: { score: 0.5, extra: null } },
    { field: 'description', mirror: long, source: other },
  ];
  const unequal = { ...finding('unequal'), fields: values.map(({ field }) => field), values };
  const same = `…${'x'.repeat(20)}`;
  expect(renderVerify(report({ findings: [unequal] }), 80)).toContain(
    `  unequal a1.x: name "orders" → "refunds", dimensions.freshness null → (score 0.5, extra null), description ${same}x" → ${same}y"\n`,
  );
});

test('the report of verify lists never synced streams on one line per environment, and suggests a sync', () => {
  const unsynced = streams.map((): Partial<StreamReport> => ({ status: 'unsynced', rows: 0 }));
  const findings = streams.map(() => finding('unsynced'));
  const text = renderVerify(report({ findings }, ...unsynced.slice(0, -1)), 80);
  expect(text.match(/never fully synced, run `obsync sync`: /g)).toHaveLength(2);
  expect(text).toContain('1 stream is equal');
  expect(text.split('\n').at(-2)).toBe(
    `the mirror does not equal the source: ${streams.length - 1} streams never fully synced, 42 requests; run \`obsync sync\``,
  );
});

test('the report of verify calls a difference that was not rechecked possible, and gives no verdict', () => {
  const text = renderVerify(
    report({ equal: null, possible: [finding('extra')] }, { status: 'stopped', possible: 61 }),
    80,
  );
  expect(text).toContain('│ stopped, 61 possible │');
  expect(text).toContain('possible, not checked again:\n  staging, columns:\n    extra a1.x\n');
  expect(text).toMatch(/not finished: 61 differences possible, not checked again, \d+ rows compared, 42 requests\n$/);
});

test('the report of verify groups differences that the next sync fixes by reason', () => {
  const pending = [finding('missing', 'changed'), finding('extra', 'cannot be told')];
  const render = (verbose: boolean) => renderVerify(report({ equal: true, pending }, { pending: 2 }), 80, verbose);
  expect(render(true)).toMatch(
    /^pending: changed; the next sync fetches them:\n {2}staging, columns:\n {4}missing a1\.x\n/m,
  );
  expect(render(true)).toMatch(
    /^pending: cannot be told; the next sync fetches them:\n {2}staging, columns:\n {4}extra a1\.x\n/m,
  );
  expect(render(false)).toMatch(
    /^pending: changed; the next sync fetches them; --verbose lists them\npending: cannot be told; .* lists them\nthe/m,
  );
});

test('the report of verify says that a sync in a later hour fetches differing scores', () => {
  const score = { ...finding('unequal', 'cannot be told'), stream: 'asset_health_scores' as const };
  const brought = (...pending: VerifyFinding[]): string =>
    renderVerify(report({ equal: true, pending }, { pending: 2 }), 80);
  expect(brought(score)).toContain('cannot be told; a sync in a later hour fetches them; --verbose');
  expect(brought(score, finding('extra', 'cannot be told'))).toContain(
    'the next sync fetches them (scores: a sync in a later hour); --verbose',
  );
});
