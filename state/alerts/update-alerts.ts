import { hash } from 'node:crypto';
import type { Alert, AlertCondition, AlertFacts, AlertKind, AlertRule } from '../../src/core/alerts/alert.ts';
import { type AlertChange, type AlertsInput, decideAlerts, ruleKey } from '../../src/core/alerts/decide-alerts.ts';
import { messageOf, type RunAlerts } from '../../src/core/alerts/delivery.ts';
import { failureRoots } from '../../src/core/alerts/lineage-walk.ts';
import { FAILING_STATUSES } from '../../src/core/read-api.ts';
import type { StreamName } from '../../src/core/stream.ts';
import { type Instant, secondsBetween } from '../../src/core/time/instant.ts';
import { type MirrorClock, tick } from '../mirror-clock.ts';
import type { StateStatements } from '../state-statements.ts';
import {
  loadAlerts,
  loadApplied,
  loadEnvironment,
  saveAlert,
  saveApplied,
  unlistedEnvironments,
} from './alert-store.ts';
import { loadEdges, loadImpact, UPSTREAM } from './asset-impact.ts';
import { type AlertMoment, type AlertScope, readConditions, readFailingSince, readMoments } from './read-conditions.ts';

/** What a commit may have changed. */
export interface AlertTrigger {
  readonly kinds: readonly AlertKind[];
  readonly moments?: readonly AlertMoment[];
}

/**
 * Decides the alerts of an environment in the transaction of a change, after its writes.
 * @returns whether any alert changed
 */
export function* updateAlerts(
  scope: AlertScope,
  rules: readonly AlertRule[],
  { kinds, moments = [] }: AlertTrigger,
): StateStatements<boolean> {
  const wanted = kinds.filter((kind) => rules.some((rule) => rule.kinds.includes(kind)));
  const used = yield* readableKinds(scope.envId, wanted);
  if (used.length === 0) return false;
  const ours = moments.filter(({ kind }) => used.includes(kind));
  const alerts = yield* loadAlerts(scope.envId, used);
  const about = { rules, kinds: used, openKeys: alerts.flatMap(({ members }) => Object.keys(members)) };
  const conditions = [...(yield* readConditions(scope, about)), ...(yield* readMoments(scope, ours))];
  return yield* applyConditions(scope, rules, { kinds: used, conditions, alerts });
}

/** What the conditions of some kinds are joined with: until it was read once, they would seem to be new afterwards. */
const READ_BEFORE: Readonly<Partial<Record<AlertKind, StreamName>>> = {
  ...{ test: 'tests', score: 'assets', column_dropped: 'assets' },
};

const READ = `select c.stream from sync_checkpoints c
  where c.env_id = @env and c.stream in ('tests', 'assets') and c.watermark is not null`;

function* readableKinds(envId: string, kinds: readonly AlertKind[]): StateStatements<readonly AlertKind[]> {
  if (kinds.every((kind) => READ_BEFORE[kind] === undefined)) return kinds;
  const { rows } = yield { sql: READ, values: { env: envId } };
  return kinds.filter((kind) => {
    const stream = READ_BEFORE[kind];
    return stream === undefined || rows.some((row) => row['stream'] === stream);
  });
}

function* applyConditions(
  scope: AlertScope,
  rules: readonly AlertRule[],
  { kinds, conditions, alerts }: Pick<AlertsInput, 'kinds' | 'conditions' | 'alerts'>,
): StateStatements<boolean> {
  const { envId, at } = scope;
  const failing = failingAssets(conditions);
  const isGrouped = kinds.includes('test') && rules.some(({ group }) => group === 'cause');
  const upstream = yield* loadEdges(envId, isGrouped ? failing : [], UPSTREAM);
  const input: AlertsInput = {
    ...{ rules, kinds, conditions, at, environment: yield* loadEnvironment(envId) },
    ...{ alerts, applied: yield* loadApplied(envId), rootOf: failureRoots(upstream, failing) },
    newId: (...parts) => hashOf([envId, at, ...parts]),
  };
  const changes = decideAlerts(input);
  yield* saveChanges(scope, changes, { input, failing });
  const applicable = rules.flatMap((rule) => rule.kinds.map((kind) => ({ name: rule.name, kind })));
  const isNew = ({ name, kind }: (typeof applicable)[number]): boolean =>
    kinds.includes(kind) && !input.applied.has(ruleKey(name, kind));
  const unapplied = applicable.filter(isNew);
  for (const { name, kind } of unapplied) yield* saveApplied(envId, name, kind, at);
  return unapplied.length > 0 || changes.length > 0;
}

function failingAssets(conditions: readonly AlertCondition[]): Set<string> {
  const isFailing = ({ kind, facts }: AlertCondition): boolean =>
    kind === 'test' && FAILING_STATUSES.some((status) => status === facts.status);
  return new Set(conditions.filter(isFailing).flatMap(({ facts }) => facts.assetId ?? []));
}

/** Short enough to type. An alert that began at another time has another id. */
function hashOf(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts)).slice(0, 12);
}

/** How many messages of a decision tell their impact: a storm must not delay its commit by minutes. */
const MAX_IMPACTS = 50;

/** The lineage is walked for what is sent only, and not for ends, which repeat the beginning. */
function* saveChanges(
  { envId, at }: AlertScope,
  changes: readonly AlertChange[],
  { input, failing }: { readonly input: AlertsInput; readonly failing: ReadonlySet<string> },
): StateStatements<void> {
  const told = changes.filter(isCurrent);
  const assets = told.flatMap(({ condition }) => condition?.facts.assetId ?? []);
  const impact = yield* loadImpact(envId, new Set(assets.slice(0, MAX_IMPACTS)), failing);
  for (const change of changes) {
    const { condition } = isCurrent(change) ? yield* withSince(envId, change) : change;
    const found = impact.get(condition?.facts.assetId ?? '') ?? null;
    yield* saveAlert(envId, change, { message: messageOf({ ...change, condition }, input.environment, found), at });
  }
}

/** Whether its message is about what is so now. */
const isCurrent = ({ event }: AlertChange): boolean => event === 'begin' || event === 'remind';

function* withSince(envId: string, change: AlertChange): StateStatements<AlertChange> {
  const { condition } = change;
  if (condition?.kind !== 'test') return change;
  const since = yield* readFailingSince(envId, condition);
  return { ...change, condition: { ...condition, facts: { ...condition.facts, since } } };
}

/** Runs that end at the same time decide one after the other. */
const LOCK = 'update mirror set id = id where id = 1';

/**
 * Decides what only the end of a run shows, and ends the alerts of rules that were removed and of environments that are
 * no longer listed. Other environments are left to other runs, whose rules may differ.
 */
export function* endRunAlerts(about: RunAlerts, clock: MirrorClock): StateStatements<void> {
  yield { sql: LOCK, values: {} };
  const { rules, run } = about;
  yield* decideMirror(about, clock.now());
  // Always in the same order, to avoid deadlocks between runs.
  for (const envId of about.envIds.toSorted()) {
    const scope = { envId, run, at: yield* tick(clock, envId) };
    if (rules.some(({ kinds }) => kinds.includes('stale'))) yield* decideStale(scope, about);
    yield* endOrphans(scope, rules, yield* loadAlerts(envId));
  }
  for (const envId of yield* unlistedEnvironments()) {
    // What was silent stays so if the environment is listed again.
    const told = (yield* loadAlerts(envId)).filter(({ isSilent }) => !isSilent);
    yield* endOrphans({ envId, run, at: clock.now() }, [], told);
  }
}

/** Any run that is answered ends the alerts about the whole mirror; one that is not begins only those of its rules. */
function* decideMirror(
  { rules, run, isTokenRefused, isQuotaExhausted, error }: RunAlerts,
  at: Instant,
): StateStatements<void> {
  for (const [kind, holds] of [
    ['token', isTokenRefused],
    ['quota', isQuotaExhausted],
  ] as const) {
    if (holds === null) continue;
    const condition = { kind, key: kind, evidence: String(run), facts: { name: kind, detail: error } };
    const stored = yield* loadAlerts('', [kind]);
    const alerts = holds ? stored.filter((alert) => rules.some(({ name }) => name === alert.rule)) : stored;
    const conditions = holds ? [condition] : [];
    yield* applyConditions({ envId: '', run, at }, rules, { kinds: [kind], conditions, alerts });
  }
}

const AGES = 'select c.stream, c.watermark, c.unavailable from sync_checkpoints c where c.env_id = @env';

const TRIED = 'select distinct r.stream from sync_stream_runs r where r.env_id = @env';

/** The stream whose last complete read is oldest decides how stale an environment is; one that has none, too. */
function* decideStale(scope: AlertScope, { rules, run, now, streams }: RunAlerts): StateStatements<void> {
  const values = { env: scope.envId };
  const { rows } = yield { sql: AGES, values };
  const known = new Map(rows.map((row) => [String(row['stream']), row]));
  const sinceOf = (stream: string): Instant => String(known.get(stream)?.['watermark'] ?? '');
  const of = (key: string, facts: AlertFacts): AlertCondition => ({ kind: 'stale', key, evidence: String(run), facts });
  const conditions: AlertCondition[] = [];
  const read = streams.filter((stream) => sinceOf(stream) !== '');
  const since = read.map(sinceOf).sort()[0];
  const oldest = read.find((stream) => sinceOf(stream) === since);
  if (oldest !== undefined && since !== undefined)
    conditions.push(of('stale', { name: oldest, value: secondsBetween(since, now), since }));
  const unread = streams.filter((stream) => sinceOf(stream) === '' && known.get(stream)?.['unavailable'] !== 1);
  const tried = unread.length === 0 ? [] : (yield { sql: TRIED, values }).rows.map((row) => row['stream']);
  const name = unread.find((stream) => tried.includes(stream));
  if (name !== undefined) conditions.push(of('unread', { name, value: null }));
  const alerts = yield* loadAlerts(scope.envId, ['stale']);
  yield* applyConditions(scope, rules, { kinds: ['stale'], conditions, alerts });
}

/** With no kinds given, only the alerts of removed rules are decided. */
function* endOrphans(scope: AlertScope, rules: readonly AlertRule[], alerts: readonly Alert[]): StateStatements<void> {
  if (alerts.length > 0) yield* applyConditions(scope, rules, { kinds: [], conditions: [], alerts });
}
