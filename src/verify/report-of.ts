import type { ListedEnvironment } from '../core/environments.ts';
import type { RecoveryKind } from '../core/errors.ts';
import type { PendingCause } from '../core/pending.ts';
import type { Row } from '../core/stream.ts';
import type { CountComparison } from './compare-counts.ts';
import { countBeyond, type Mismatch } from './mismatches.ts';
import type { RepairResult } from './repair.ts';
import type { VerifyResult } from './verify.ts';
import type { StreamReport, VerifyFinding, VerifyReport } from './verify-report.ts';

type ExaminedOfReport = VerifyResult['examined'][number];

/** What a verification found, in one document. `repaired` is what a repair made of it. */
export function reportOf(
  verifyResult: VerifyResult,
  facts: Pick<VerifyReport, 'server_time' | 'requests'>,
  repaired: RepairResult | null = null,
): VerifyReport {
  const { depth, environments, examined, reconciled } = verifyResult;
  const error = verifyResult.error ?? repaired?.error ?? null;
  const outcome = { mended: repaired?.mended ?? NONE, open: repaired?.open ?? NONE };
  const environmentRows = environmentFindings(verifyResult, repaired?.environments ?? false);
  const findings = [...environmentRows.differences, ...examined.flatMap((each) => findingsOf(each, outcome))];
  const streams = examined.map((each) => streamReport(each, outcome));
  const isUnknown =
    error !== null ||
    (reconciled?.rejected ?? []).length > 0 ||
    streams.some(({ status, possible }) => possible > 0 || status === 'failed' || status === 'stopped');
  return {
    equal: findings.some((finding) => !finding.repaired) ? false : isUnknown ? null : true,
    depth,
    ...facts,
    environments: environments.map(({ id, name }) => ({ env_id: id, environment: name })),
    streams,
    findings,
    possible: examined.flatMap((each) => possibleOf(each, outcome).map((suspect) => findingOf(each, suspect))),
    pending: [
      ...environmentRows.pending,
      ...examined.flatMap((each) => pendingOf(each, outcome).map((suspect) => findingOf(each, suspect))),
    ],
    not_listed: examined.reduce((sum, each) => sum + beyondOf(each), 0),
    not_looked_at: notLookedAt(verifyResult),
    repair: repaired === null ? null : { run: repaired.run, not_repaired: repaired.notRepaired },
    error: error === null ? null : (STOPPED[error.recovery] ?? error.message),
    recovery: error?.recovery ?? null,
  };
}

const NONE: ReadonlySet<Mismatch> = new Set();

/** What a source says of a run that goes on later does not hold here: a verification begins anew. */
const STOPPED: Readonly<Partial<Record<RecoveryKind, string>>> = {
  budget: 'stopped at --max-requests: allow more, or look at less with --env, --stream or --depth',
  signal: 'stopped by a signal',
};

function beyondOf({ compared: { suspects, pending } }: ExaminedOfReport): number {
  return countBeyond(suspects) + countBeyond(pending);
}

function streamReport(examinedOfReport: ExaminedOfReport, reportInput: ReportInput): StreamReport {
  const { environment, sight, status, compared, error, requests } = examinedOfReport;
  const confirmed = confirmedOf(examinedOfReport, reportInput);
  const number = (what: Mismatch['what']): number => confirmed.filter((suspect) => suspect.what === what).length;
  const possible = possibleOf(examinedOfReport, reportInput).length + countBeyond(compared.suspects);
  const isMended =
    confirmed.length > 0 && possible === 0 && confirmed.every((suspect) => reportInput.mended.has(suspect));
  const isOpen = confirmed.some((suspect) => reportInput.open.has(suspect));
  return {
    env_id: environment.id,
    environment: environment.name,
    stream: sight.stream.name,
    status: isMended ? 'repaired' : isOpen && status === 'equal' ? 'different' : status,
    rows: compared.rows,
    missing: number('missing'),
    extra: number('extra'),
    unequal: number('unequal'),
    possible,
    pending: pendingOf(examinedOfReport, reportInput).length + countBeyond(compared.pending),
    requests,
    error: status === 'failed' ? (error?.message ?? null) : null,
  };
}

interface ReportInput {
  readonly mended: ReadonlySet<Mismatch>;
  readonly open: ReadonlySet<Mismatch>;
}

function isSettled(mismatch: Mismatch, { mended, open }: ReportInput): boolean {
  return mended.has(mismatch) || open.has(mismatch);
}

/** What a repair has read again was a difference, though nobody had looked at it again before. */
function confirmedOf(
  { compared, differences, possible, pending }: ExaminedOfReport,
  reportInput: ReportInput,
): Mismatch[] {
  const others = [...possible, ...pending, ...compared.pending.listed.values()];
  return [...differences, ...others.filter((suspect) => isSettled(suspect, reportInput))];
}

function findingsOf(examinedOfReport: ExaminedOfReport, reportInput: ReportInput): VerifyFinding[] {
  if (examinedOfReport.status === 'unsynced') return [unsynced(examinedOfReport)];
  return confirmedOf(examinedOfReport, reportInput).map((suspect) => ({
    ...findingOf(examinedOfReport, suspect),
    repaired: reportInput.mended.has(suspect),
  }));
}

function possibleOf({ possible }: ExaminedOfReport, reportInput: ReportInput): Mismatch[] {
  return possible.filter((suspect) => !isSettled(suspect, reportInput));
}

function pendingOf({ compared, pending }: ExaminedOfReport, reportInput: ReportInput): Mismatch[] {
  return [...compared.pending.listed.values(), ...pending].filter((suspect) => !isSettled(suspect, reportInput));
}

/** What is said of rows that the next sync brings. */
const CAUSES: Readonly<Record<PendingCause, string>> = {
  changed: 'changed at the source since the last sync',
  ambiguous: 'whether the source has changed or the mirror is wrong cannot be told yet',
};

function findingOf(
  { environment, sight }: ExaminedOfReport,
  { key, what, fields, why, cause }: Mismatch,
): VerifyFinding {
  const names = sight.stream.key.map((name, i): [string, string] => [name, key[i] ?? '']);
  // An edge leads from the upstream to the downstream id, whichever comes first in the key.
  const edge = names.toSorted(([a], [b]) => (a < b ? 1 : -1));
  return {
    env_id: environment.id,
    environment: environment.name,
    stream: sight.stream.name,
    what,
    key: key.length === 0 ? {} : Object.fromEntries(edge),
    fields,
    why: why ?? (cause === null ? null : CAUSES[cause]),
    repaired: false,
  };
}

function unsynced({ environment, sight }: ExaminedOfReport): VerifyFinding {
  return {
    env_id: environment.id,
    environment: environment.name,
    stream: sight.stream.name,
    what: 'unsynced',
    key: {},
    fields: [],
    why: 'never synced to its end: run `obsync sync`',
    repaired: false,
  };
}

/** The rows of the environments themselves: the next run writes them as they are listed. */
function environmentFindings(
  { depth, environments, reconciled, heldEnvironments }: VerifyResult,
  repaired: boolean,
): {
  differences: VerifyFinding[];
  pending: VerifyFinding[];
} {
  const found = depth !== 'rows' ? [] : (reconciled?.changed ?? []);
  const apart = found.flatMap((row) => {
    const environment = environments.find(({ id }) => id === row['id']);
    const held = heldEnvironments.find(({ id }) => id === row['id']);
    return environment === undefined || held === undefined ? [] : [environmentFinding(environment, row, held)];
  });
  const refreshed = Map.groupBy(apart, ({ fields }) => fields.some((name) => CHANGING.includes(name)));
  const pending = refreshed.get(true) ?? [];
  return {
    differences: (refreshed.get(false) ?? []).map((finding) => ({ ...finding, repaired })),
    pending: repaired ? [] : pending.map((finding) => ({ ...finding, why: CAUSES.changed })),
  };
}

/** What moves whenever the service refreshes an environment, and `missing_since`, which it is the next run's to clear. */
const CHANGING: readonly string[] = ['last_sync_status', 'last_synced_at', 'missing_since'];

function environmentFinding(listedEnvironment: ListedEnvironment, row: Row, held: Row): VerifyFinding {
  return {
    env_id: listedEnvironment.id,
    environment: listedEnvironment.name,
    stream: 'environments',
    what: 'unequal',
    key: { id: listedEnvironment.id },
    fields: Object.keys(row).filter((name) => held[name] !== row[name]),
    why: 'the next sync mends it',
    repaired: false,
  };
}

function notLookedAt({ depth, reconciled, examined }: VerifyResult): string[] {
  const uncounted = examined.some(({ compared }) => (compared as CountComparison).uncounted);
  return [
    ...(uncounted ? ['how many tables the source counts: it does not say (404), so their ids were read'] : []),
    ...UNSEEN[depth],
    'test_executions: the mirror keeps every run it has ever seen, the source shows 90 days',
    ...(reconciled?.missing ?? []).map(({ name }) => `${name}: no longer listed, its rows stay as they were`),
    ...(reconciled?.rejected ?? []).map(
      ({ key, reason }) => `environment ${key?.[0] ?? 'without an id'}: cannot be read: ${reason}`,
    ),
  ];
}

const UNSEEN: Readonly<Record<VerifyResult['depth'], readonly string[]>> = {
  count: ['which tables there are while their number is right, and all that is no table: see --depth ids and rows'],
  ids: [
    'the fields of the rows: see --depth rows',
    'table_assets and bi_assets: their ids are those of assets, their fields are looked at with --depth rows',
  ],
  rows: [],
};
