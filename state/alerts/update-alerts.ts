import { createHash } from 'node:crypto';
import type { AlertCondition, AlertKind, AlertRule } from '../../src/core/alerts/alert.ts';
import { type AlertChange, type AlertsInput, decideAlerts, ruleKey } from '../../src/core/alerts/decide-alerts.ts';
import { messageOf, type RunAlerts } from '../../src/core/alerts/delivery.ts';
import { failureRoot } from '../../src/core/alerts/lineage-walk.ts';
import { FAILING_STATUSES } from '../../src/core/alerts/matches-rule.ts';
import type { Row } from '../../src/core/stream.ts';
import { secondsBetween } from '../../src/core/time/instant.ts';
import { loadEnvironments } from '../environment-store.ts';
import type { MirrorClock } from '../mirror-clock.ts';
import type { StateStatements } from '../state-statements.ts';
import { loadAlerts, loadApplied, loadEnvironment, pruneAlerts, saveAlert, saveApplied } from './alert-store.ts';
import { loadImpact, loadUpstream } from './asset-impact.ts';
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
  const used = kinds.filter((kind) => rules.some((rule) => rule.kinds.includes(kind)));
  if (used.length === 0) return false;
  const ours = moments.filter(({ kind }) => used.includes(kind));
  const conditions = [...(yield* readConditions(scope, used)), ...(yield* readMoments(scope, ours))];
  return yield* applyConditions(scope, rules, used, conditions);
}

function* applyConditions(
  scope: AlertScope,
  rules: readonly AlertRule[],
  kinds: readonly AlertKind[],
  conditions: readonly AlertCondition[],
): StateStatements<boolean> {
  const { envId, at } = scope;
  const failing = failingAssets(conditions);
  const isGrouped = kinds.includes('test') && rules.some(({ group }) => group === 'cause');
  const upstream = yield* loadUpstream(envId, isGrouped ? failing : []);
  const input: AlertsInput = {
    ...{ rules, kinds, conditions, at, environment: yield* loadEnvironment(envId) },
    ...{ alerts: yield* loadAlerts(envId, kinds), applied: yield* loadApplied(envId) },
    rootOf: (assetId) => failureRoot(upstream, failing, assetId),
    newId: (...parts) => hashOf([envId, at, ...parts]),
  };
  const changes = decideAlerts(input);
  yield* saveChanges(scope, changes, { input, failing });
  let isNew = false;
  for (const rule of rules)
    for (const kind of rule.kinds.filter((each) => kinds.includes(each))) {
      if (input.applied.has(ruleKey(rule.name, kind))) continue;
      yield* saveApplied(envId, rule.name, kind, at);
      isNew = true;
    }
  return isNew || changes.length > 0;
}

function failingAssets(conditions: readonly AlertCondition[]): Set<string> {
  const isFailing = ({ kind, facts }: AlertCondition): boolean =>
    kind === 'test' && FAILING_STATUSES.some((status) => status === facts.status);
  return new Set(conditions.filter(isFailing).flatMap(({ facts }) => facts.assetId ?? []));
}

/** Short enough to type. An alert that began at another time has another id. */
function hashOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
}

/** The lineage is walked for beginnings only: what is silent says nothing, and later messages repeat the first. */
function* saveChanges(
  { envId, at }: AlertScope,
  changes: readonly AlertChange[],
  { input, failing }: { readonly input: AlertsInput; readonly failing: ReadonlySet<string> },
): StateStatements<void> {
  const begun = changes.filter(({ event }) => event === 'begin');
  const assets = new Set(begun.flatMap(({ condition }) => condition?.facts.assetId ?? []));
  const impact = yield* loadImpact(envId, assets, failing);
  for (const change of changes) {
    const { alert, event } = change;
    const told = event === 'begin' ? yield* withSince(envId, change) : change;
    const message = messageOf(told, input.environment, impact.get(told.condition?.facts.assetId ?? '') ?? null);
    yield* saveAlert(envId, { ...told, alert: { ...alert, message: alert.begunAt === null ? null : message } }, at);
  }
}

function* withSince(envId: string, change: AlertChange): StateStatements<AlertChange> {
  const { condition } = change;
  if (condition?.kind !== 'test') return change;
  const since = yield* readFailingSince(envId, condition);
  return { ...change, condition: { ...condition, facts: { ...condition.facts, since } } };
}

/** Runs that end at the same time decide one after the other. */
const LOCK = 'update mirror set id = id where id = 1';

/** Decides what only the end of a run shows, and ends the alerts of rules that were removed. */
export function* endRunAlerts(about: RunAlerts, clock: MirrorClock): StateStatements<void> {
  yield { sql: LOCK, values: {} };
  const { rules, run } = about;
  const at = clock.now();
  const used = (kind: AlertKind): boolean => rules.some((rule) => rule.kinds.includes(kind));
  for (const [kind, holds] of [
    ['token', about.isTokenRefused],
    ['quota', about.isQuotaExhausted],
  ] as const) {
    if (holds === null || !used(kind)) continue;
    const facts = { name: kind, detail: about.error };
    const conditions = holds ? [{ kind, key: kind, evidence: String(run), facts }] : [];
    yield* applyConditions({ envId: '', run, at }, rules, [kind], conditions);
  }
  if (used('stale')) yield* decideStale(about, at);
  for (const envId of ['', ...about.envIds]) {
    yield* endOrphans({ envId, run, at }, rules);
    yield* pruneAlerts(envId, about.now);
  }
}

/** With the environments in a statement of their own, because a distributed database does not join the two. */
const AGES = `select c.env_id, c.stream, c.watermark, c.unavailable from sync_checkpoints c
  where c.watermark is not null order by c.env_id, c.watermark, c.stream`;

/** The stream whose last complete read is oldest decides how stale an environment is. */
function* decideStale({ rules, run, now, streams }: RunAlerts, at: string): StateStatements<void> {
  const listed = (yield* loadEnvironments()).filter((row) => row['missing_since'] === null).map(({ id }) => id);
  const { rows } = yield { sql: AGES, values: {} };
  const isCounted = (row: Row): boolean =>
    listed.includes(row['env_id'] ?? null) && row['unavailable'] === 0 && streams.includes(String(row['stream']));
  for (const [envId, [oldest]] of Map.groupBy(rows.filter(isCounted), (row) => String(row['env_id']))) {
    const since = String(oldest?.['watermark']);
    const facts = { name: String(oldest?.['stream']), value: secondsBetween(since, now), since };
    const condition = { kind: 'stale', key: 'stale', evidence: String(run), facts } as const;
    yield* applyConditions({ envId, run, at }, rules, ['stale'], [condition]);
  }
}

/** With no kinds given, only the alerts of removed rules are decided. */
function* endOrphans(scope: AlertScope, rules: readonly AlertRule[]): StateStatements<void> {
  const alerts = yield* loadAlerts(scope.envId);
  const input: AlertsInput = {
    ...{ rules, kinds: [], conditions: [], alerts, applied: new Set(), at: scope.at },
    environment: yield* loadEnvironment(scope.envId),
    ...{ rootOf: (id) => id, newId: () => '' },
  };
  yield* saveChanges(scope, decideAlerts(input), { input, failing: new Set() });
}
