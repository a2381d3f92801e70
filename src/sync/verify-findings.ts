import type { Environment } from '../core/environments.ts';
import type { Recovery } from '../core/errors.ts';
import type { Row } from '../core/stream.ts';
import type { Verification } from './verify.ts';
import type { Counted } from './verify-count.ts';
import type { Repaired } from './verify-repair.ts';
import type { Finding, StreamReport, VerifyReport } from './verify-report.ts';
import { countOf, type Suspect } from './verify-suspects.ts';

type Examined = Verification['examined'][number];

/** What a verification found, in one document. `repaired` is what a repair made of it. */
export function reportOf(
  verification: Verification,
  facts: Pick<VerifyReport, 'server_time' | 'requests'>,
  repaired: Repaired | null = null,
): VerifyReport {
  const { depth, environments, examined } = verification;
  const error = verification.error ?? repaired?.error ?? null;
  const mended = (suspect: Suspect): boolean => repaired?.mended.has(suspect) ?? false;
  const environmentRows = environmentFindings(verification, repaired?.environments ?? false);
  const findings = [...environmentRows.differences, ...examined.flatMap((each) => findingsOf(each, mended))];
  const streams = examined.map(streamReport);
  // What is only counted is neither looked at again nor repaired.
  const uncharted = examined.some(({ compared }) => countOf(compared.suspects) > compared.suspects.list.length);
  const open = uncharted || findings.some((finding) => !finding.repaired);
  const unknown = error !== null || streams.some(({ status }) => status === 'failed' || status === 'stopped');
  return {
    equal: open || streams.some(({ status }) => status === 'unsynced') ? false : unknown ? null : true,
    depth,
    ...facts,
    environments: environments.map(({ id, name }) => ({ env_id: id, environment: name })),
    streams,
    findings,
    pending: [...environmentRows.pending, ...examined.flatMap(pendingOf)],
    not_listed: examined.reduce((sum, { compared }) => sum + beyond(compared), 0),
    not_looked_at: notLookedAt(verification),
    repair: repaired === null ? null : { run: repaired.run, not_repaired: repaired.notRepaired },
    error: error === null ? null : (STOPPED[error.recovery] ?? error.message),
    recovery: error?.recovery ?? null,
  };
}

/** What a source says of a run that goes on later does not hold here: a verification begins anew. */
const STOPPED: Readonly<Partial<Record<Recovery, string>>> = {
  budget: 'stopped at --max-requests: allow more, or look at less with --env, --stream or --depth',
  signal: 'stopped by a signal',
};

function beyond({ suspects, pending }: Examined['compared']): number {
  return countOf(suspects) - suspects.list.length + countOf(pending) - pending.list.length;
}

function streamReport(examined: Examined): StreamReport {
  const { environment, sight, status, compared, differences, left, error, requests } = examined;
  const { beyond } = compared.suspects;
  const number = (what: Suspect['what']): number =>
    beyond[what] + [...differences, ...left].filter((suspect) => suspect.what === what).length;
  return {
    env_id: environment.id,
    environment: environment.name,
    stream: sight.stream.name,
    status,
    rows: compared.rows,
    missing: number('missing'),
    extra: number('extra'),
    unequal: number('unequal'),
    pending: countOf(compared.pending) + examined.pending.length,
    not_looked_at_again: left.length + beyond.missing + beyond.extra + beyond.unequal,
    requests,
    error: status === 'failed' ? (error?.message ?? null) : null,
  };
}

function findingsOf(examined: Examined, mended: (suspect: Suspect) => boolean): Finding[] {
  if (examined.status === 'unsynced') return [unsynced(examined)];
  return [
    ...examined.differences.map((suspect) => ({ ...findingOf(examined, suspect), repaired: mended(suspect) })),
    ...examined.left.map((suspect) => ({
      ...findingOf(examined, suspect),
      looked_again: false,
      repaired: mended(suspect),
    })),
  ];
}

function pendingOf(examined: Examined): Finding[] {
  const late = examined.compared.pending.list.map((suspect) => ({
    ...findingOf(examined, suspect),
    looked_again: false,
  }));
  return [...late, ...examined.pending.map((suspect) => findingOf(examined, suspect))];
}

function findingOf({ environment, sight }: Examined, { key, what, fields, why }: Suspect): Finding {
  const names = Object.fromEntries(key.map((part, i) => [sight.stream.key[i] as string, part]));
  const place = { env_id: environment.id, environment: environment.name, stream: sight.stream.name };
  return { ...place, what, key: names, fields, why, looked_again: true, repaired: false };
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
    looked_again: false,
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
    return environment === undefined || held === undefined
      ? []
      : [{ ...environmentFinding(environment, row, held), repaired }];
  });
  const refreshed = Map.groupBy(apart, ({ fields }) => fields.some((name) => CHANGING.includes(name)));
  return { differences: refreshed.get(false) ?? [], pending: refreshed.get(true) ?? [] };
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
    looked_again: true,
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
  ];
}

const UNSEEN: Readonly<Record<Verification['depth'], readonly string[]>> = {
  count: ['which tables there are while their number is right, and all that is no table: see --depth ids and rows'],
  ids: ['the fields of the rows: see --depth rows'],
  rows: [],
};
