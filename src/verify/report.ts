import type { RecoveryKind } from '../core/errors.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { Row } from '../core/stream.ts';
import { shortenedValues } from './field-values.ts';
import { countUnlisted, isConfirmed, isPending, type Mismatch, PENDING_REASONS, whyOf } from './mismatch.ts';
import type { RepairResult } from './repair.ts';
import { mismatchesOf, type StreamVerification } from './stream-verification.ts';
import type { VerifyResult } from './verify.ts';
import type { StreamReport, VerifyFinding, VerifyReport } from './verify-report.ts';

export function reportOf(
  result: VerifyResult,
  facts: Pick<VerifyReport, 'server_time' | 'requests'>,
  repaired: RepairResult | null = null,
): VerifyReport {
  const { depth, environments, reconciled } = result;
  const { verifications } = repaired ?? result;
  const error = result.error ?? repaired?.error ?? null;
  const environmentRows = environmentFindings(result, repaired?.hasWrittenEnvironments ?? false);
  const streams = verifications.map(streamReport);
  const findings = [
    ...environmentRows.findings,
    ...verifications.flatMap((each) =>
      each.outcome === 'unsynced' ? [unsynced(each)] : findingsOf(each, isConfirmed),
    ),
  ];
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
    possible: verifications.flatMap((each) => findingsOf(each, isPossible)),
    pending: [...environmentRows.pending, ...verifications.flatMap((each) => findingsOf(each, isPending))],
    not_listed: verifications.reduce(
      (sum, each) => sum + countUnlisted(each.unexplained) + countUnlisted(each.pending),
      0,
    ),
    not_looked_at: notLookedAt(result),
    repair: repaired === null ? null : { run: repaired.run, not_repaired: repaired.notRepaired },
    error: error === null ? null : (STOPPED[error.recovery] ?? error.message),
    recovery: error?.recovery ?? null,
  };
}

/** The source's messages describe a run that resumes later, but a verification starts over. */
const STOPPED: Readonly<Partial<Record<RecoveryKind, string>>> = {
  budget: 'stopped at --max-requests: raise it, or compare less with --env, --stream or --depth',
  signal: 'stopped by a signal',
};

function isPossible({ verdict }: Mismatch): boolean {
  return verdict === 'possible';
}

function streamReport(verified: StreamVerification): StreamReport {
  const { rows, unexplained, pending, outcome, error, requests } = verified;
  const mismatches = mismatchesOf(verified);
  const confirmed = mismatches.filter(isConfirmed);
  const number = (what: Mismatch['what']): number => confirmed.filter((mismatch) => mismatch.what === what).length;
  const possible = mismatches.filter(isPossible).length + countUnlisted(unexplained);
  return {
    ...placeOf(verified),
    status: outcome === 'compared' ? statusOf(confirmed, possible) : outcome,
    rows,
    missing: number('missing'),
    extra: number('extra'),
    unequal: number('unequal'),
    possible,
    pending: mismatches.filter(isPending).length + countUnlisted(pending),
    requests,
    error: outcome === 'failed' ? (error?.message ?? null) : null,
  };
}

function statusOf(confirmed: readonly Mismatch[], possible: number): StreamReport['status'] {
  if (confirmed.some(({ verdict }) => verdict === 'different')) return 'different';
  if (possible > 0) return 'unsure';
  return confirmed.length > 0 ? 'repaired' : 'equal';
}

function placeOf({ streamContext: { environment, stream } }: StreamVerification) {
  return { env_id: environment.id, environment: environment.name, stream: stream.name };
}

function findingsOf(verified: StreamVerification, isMeant: (mismatch: Mismatch) => boolean): VerifyFinding[] {
  const found = mismatchesOf(verified).filter(isMeant);
  return found.map((mismatch) => ({
    ...placeOf(verified),
    what: mismatch.what,
    key: namedKey(verified.streamContext.stream.key, mismatch.key),
    fields: mismatch.fields,
    values: mismatch.values,
    why: whyOf(mismatch),
    repaired: mismatch.verdict === 'repaired',
  }));
}

/** Names an edge from its upstream to its downstream id, whichever comes first in the key. */
function namedKey(names: readonly string[], key: Mismatch['key']): VerifyFinding['key'] {
  if (key.length === 0) return {};
  const pairs = names.map((name, i): [string, string] => [name, key[i] ?? '']);
  return Object.fromEntries(pairs.toSorted(([a], [b]) => (a < b ? 1 : -1)));
}

function unsynced(verified: StreamVerification): VerifyFinding {
  return {
    ...placeOf(verified),
    what: 'unsynced',
    key: {},
    fields: [],
    values: [],
    why: 'never synced to its end: run `obsync sync`',
    repaired: false,
  };
}

/** Differences in the rows of the environments themselves. The next run writes these rows as they are listed. */
function environmentFindings(
  { depth, environments, reconciled, mirroredEnvironments }: VerifyResult,
  repaired: boolean,
): Pick<VerifyReport, 'findings' | 'pending'> {
  const changed = depth === 'rows' ? (reconciled?.changed ?? []) : [];
  const all = changed.flatMap((row) => {
    const environment = environments.find(({ id }) => id === row['id']);
    const mirrored = mirroredEnvironments.find(({ id }) => id === row['id']);
    return environment && mirrored ? [environmentFinding(environment, row, mirrored)] : [];
  });
  const { findings = [], pending = [] } = Object.groupBy(all, ({ fields }) =>
    fields.some((name) => REFRESHED.includes(name)) ? 'pending' : 'findings',
  );
  return {
    findings: findings.map((finding) => ({ ...finding, repaired })),
    pending: repaired ? [] : pending.map((finding) => ({ ...finding, why: PENDING_REASONS.changed })),
  };
}

/** The fields that change when the service refreshes an environment, and `missing_since`, which the next run clears. */
const REFRESHED: readonly string[] = ['last_sync_status', 'last_synced_at', 'missing_since'];

function environmentFinding({ id, name }: ListedEnvironment, row: Row, mirrored: Row): VerifyFinding {
  const fields = Object.keys(row).filter((field) => mirrored[field] !== row[field]);
  return {
    env_id: id,
    environment: name,
    stream: 'environments',
    what: 'unequal',
    key: { id },
    fields,
    values: fields.map((field) => shortenedValues(field, mirrored[field] ?? null, row[field] ?? null)),
    why: 'the next sync corrects it',
    repaired: false,
  };
}

function notLookedAt({ depth, reconciled, verifications }: VerifyResult): string[] {
  const isUncounted = verifications.some((each) => each.isUncounted);
  return [
    ...(isUncounted ? ['the number of tables: the source does not count them (404), so their ids were compared'] : []),
    ...UNSEEN[depth],
    'test_executions: the mirror keeps every run it has ever seen, the source returns 90 days',
    ...(reconciled?.missing ?? []).map(({ name }) => `${name}: no longer listed, its rows stay as they were`),
    ...(reconciled?.rejected ?? []).map(
      ({ key, reason }) => `environment ${key?.[0] ?? 'without an id'}: cannot be read: ${reason}`,
    ),
  ];
}

const UNSEEN: Readonly<Record<VerifyResult['depth'], readonly string[]>> = {
  count: [
    'which tables exist where their number matches, and everything that is not a table: see --depth ids and rows',
  ],
  ids: [
    'the fields of the rows: see --depth rows',
    'table_assets and bi_assets: their ids are those of assets, their fields are compared only with --depth rows',
  ],
  rows: [],
};
