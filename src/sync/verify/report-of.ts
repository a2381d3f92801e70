import type { Environment } from '../../core/environments.ts';
import type { Recovery } from '../../core/errors.ts';
import type { Cause } from '../../core/pending.ts';
import type { Row } from '../../core/stream.ts';
import type { Counted } from './compare-counts.ts';
import type { Repaired } from './repair.ts';
import { countBeyond, type Suspect } from './suspects.ts';
import type { Verification } from './verify.ts';
import type { Finding, StreamReport, VerifyReport } from './verify-report.ts';

type Examined = Verification['examined'][number];

/** What a verification found, in one document. `repaired` is what a repair made of it. */
export function reportOf(
  verification: Verification,
  facts: Pick<VerifyReport, 'server_time' | 'requests'>,
  repaired: Repaired | null = null,
): VerifyReport {
  const { depth, environments, examined, reconciled } = verification;
  const error = verification.error ?? repaired?.error ?? null;
  const outcome = { mended: repaired?.mended ?? NONE, open: repaired?.open ?? NONE };
  const environmentRows = environmentFindings(verification, repaired?.environments ?? false);
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
    not_looked_at: notLookedAt(verification),
    repair: repaired === null ? null : { run: repaired.run, not_repaired: repaired.notRepaired },
    error: error === null ? null : (STOPPED[error.recovery] ?? error.message),
    recovery: error?.recovery ?? null,
  };
}

const NONE: ReadonlySet<Suspect> = new Set();

/** What a source says of a run that goes on later does not hold here: a verification begins anew. */
const STOPPED: Readonly<Partial<Record<Recovery, string>>> = {
  budget: 'stopped at --max-requests: allow more, or look at less with --env, --stream or --depth',
  signal: 'stopped by a signal',
};

function beyondOf({ compared: { suspects, pending } }: Examined): number {
  return countBeyond(suspects) + countBeyond(pending);
}

function streamReport(examined: Examined, outcome: Outcome): StreamReport {
  const { environment, sight, status, compared, error, requests } = examined;
  const confirmed = confirmedOf(examined, outcome);
  const number = (what: Suspect['what']): number => confirmed.filter((suspect) => suspect.what === what).length;
  const possible = possibleOf(examined, outcome).length + countBeyond(compared.suspects);
  const isMended = confirmed.length > 0 && possible === 0 && confirmed.every((suspect) => outcome.mended.has(suspect));
  const isOpen = confirmed.some((suspect) => outcome.open.has(suspect));
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
    pending: pendingOf(examined, outcome).length + countBeyond(compared.pending),
    requests,
    error: status === 'failed' ? (error?.message ?? null) : null,
  };
}

interface Outcome {
  readonly mended: ReadonlySet<Suspect>;
  readonly open: ReadonlySet<Suspect>;
}

function isSettled(suspect: Suspect, { mended, open }: Outcome): boolean {
  return mended.has(suspect) || open.has(suspect);
}

/** What a repair has read again was a difference, though nobody had looked at it again before. */
function confirmedOf({ compared, differences, possible, pending }: Examined, outcome: Outcome): Suspect[] {
  const others = [...possible, ...pending, ...compared.pending.listed.values()];
  return [...differences, ...others.filter((suspect) => isSettled(suspect, outcome))];
}

function findingsOf(examined: Examined, outcome: Outcome): Finding[] {
  if (examined.status === 'unsynced') return [unsynced(examined)];
  return confirmedOf(examined, outcome).map((suspect) => ({
    ...findingOf(examined, suspect),
    repaired: outcome.mended.has(suspect),
  }));
}

function possibleOf({ possible }: Examined, outcome: Outcome): Suspect[] {
  return possible.filter((suspect) => !isSettled(suspect, outcome));
}

function pendingOf({ compared, pending }: Examined, outcome: Outcome): Suspect[] {
  return [...compared.pending.listed.values(), ...pending].filter((suspect) => !isSettled(suspect, outcome));
}

/** What is said of rows that the next sync brings. */
const CAUSES: Readonly<Record<Cause, string>> = {
  changed: 'changed at the source since the last sync',
  untold: 'whether the source has changed or the mirror is wrong cannot be told yet',
};

function findingOf({ environment, sight }: Examined, { key, what, fields, why, cause }: Suspect): Finding {
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

function unsynced({ environment, sight }: Examined): Finding {
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
  { depth, environments, reconciled, heldEnvironments }: Verification,
  repaired: boolean,
): {
  differences: Finding[];
  pending: Finding[];
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

function environmentFinding(environment: Environment, row: Row, held: Row): Finding {
  return {
    env_id: environment.id,
    environment: environment.name,
    stream: 'environments',
    what: 'unequal',
    key: { id: environment.id },
    fields: Object.keys(row).filter((name) => held[name] !== row[name]),
    why: 'the next sync mends it',
    repaired: false,
  };
}

function notLookedAt({ depth, reconciled, examined }: Verification): string[] {
  const uncounted = examined.some(({ compared }) => (compared as Counted).uncounted);
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

const UNSEEN: Readonly<Record<Verification['depth'], readonly string[]>> = {
  count: ['which tables there are while their number is right, and all that is no table: see --depth ids and rows'],
  ids: [
    'the fields of the rows: see --depth rows',
    'table_assets and bi_assets: their ids are those of assets, their fields are looked at with --depth rows',
  ],
  rows: [],
};
