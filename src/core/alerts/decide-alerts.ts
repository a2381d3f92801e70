import { addSeconds, type Instant, laterOf } from '../time/instant.ts';
import type {
  Alert,
  AlertCondition,
  AlertEnvironment,
  AlertEvent,
  AlertKind,
  AlertMember,
  AlertRule,
} from './alert.ts';
import { ruleState } from './matches-rule.ts';

/** The alerts and conditions of one environment, or of the whole mirror. */
export interface AlertsInput {
  readonly rules: readonly AlertRule[];
  /** Null for the whole mirror. */
  readonly environment: AlertEnvironment | null;
  /** The kinds whose conditions were read. Nothing is decided about others. */
  readonly kinds: readonly AlertKind[];
  readonly conditions: readonly AlertCondition[];
  /** The alerts of these kinds that have not ended. */
  readonly alerts: readonly Alert[];
  /** The rules that were applied here before, by `ruleKey`. */
  readonly applied: ReadonlySet<string>;
  readonly at: Instant;
  /** The asset at which the failures upstream of an asset begin; the asset itself if there are none. */
  rootOf(assetId: string): string;
  /** The id of a new alert. */
  newId(rule: string, kind: AlertKind, subject: string): string;
}

/** How an alert changes. A pending alert whose condition is gone is dropped. */
export interface AlertChange {
  readonly alert: Alert;
  readonly event: AlertEvent | null;
  readonly isDropped: boolean;
  /** One of its conditions; null if it has none any more. */
  readonly condition: AlertCondition | null;
}

/** Identifies a rule and one of its kinds. */
export function ruleKey(rule: string, kind: AlertKind): string {
  return `${kind} ${rule}`;
}

/**
 * Decides which alerts begin and end. The alerts stored are the state before, the conditions the state after, so
 * deciding twice has no further effect.
 */
export function decideAlerts(input: AlertsInput): AlertChange[] {
  const names = new Set(input.rules.flatMap((rule) => rule.kinds.map((kind) => ruleKey(rule.name, kind))));
  // Whoever was told of a beginning is told of the end, even after the rule was removed.
  const orphans = input.alerts.filter(({ rule, kind }) => !names.has(ruleKey(rule, kind)));
  return [
    ...orphans.map((alert) => settle({ alert, members: {}, condition: null }, null, input)),
    ...input.rules.flatMap((rule) =>
      rule.kinds.filter((kind) => input.kinds.includes(kind)).flatMap((kind) => decideRule(input, rule, kind)),
    ),
  ].filter((change) => change !== null);
}

/** An alert, and the conditions that it has now. */
interface AlertDraft {
  readonly alert: Alert;
  members: Alert['members'];
  condition: AlertCondition | null;
}

function decideRule(input: AlertsInput, rule: AlertRule, kind: AlertKind): (AlertChange | null)[] {
  const standing = new Map<string, AlertCondition>();
  const unknown = new Set<string>();
  for (const condition of input.conditions) {
    const state = condition.kind === kind ? ruleState(rule, condition, input.environment) : 'no';
    if (state === 'holds') standing.set(condition.key, condition);
    if (state === 'unknown') unknown.add(condition.key);
  }
  const drafts: AlertDraft[] = input.alerts
    .filter((alert) => alert.rule === rule.name && alert.kind === kind)
    .map((alert) => ({ alert, members: keptMembers(alert, { standing, unknown, at: input.at }), condition: null }));
  const byKey = new Map(drafts.flatMap((draft) => Object.keys(draft.members).map((key) => [key, draft] as const)));
  const bySubject = new Map(drafts.map((draft) => [draft.alert.subject, draft] as const));
  for (const [key, condition] of standing) {
    // A condition stays in its alert, even if its probable cause or its owner changes meanwhile.
    const known = byKey.get(key);
    const subject = known?.alert.subject ?? subjectOf(rule, condition, input);
    const draft = known ?? bySubject.get(subject) ?? newDraft(input, rule, condition.kind, subject);
    bySubject.set(subject, draft);
    if (known === undefined) draft.members = { ...draft.members, [key]: memberOf(condition, 1) };
    draft.condition ??= condition;
  }
  return [...bySubject.values()].map((draft) => settle(draft, rule, input));
}

interface StandingConditions {
  readonly standing: ReadonlyMap<string, AlertCondition>;
  readonly unknown: ReadonlySet<string>;
  readonly at: Instant;
}

function keptMembers({ members }: Alert, { standing, unknown, at }: StandingConditions): Alert['members'] {
  const kept = Object.entries(members).flatMap(([key, member]): [string, AlertMember][] => {
    const condition = standing.get(key);
    if (condition === undefined) {
      const stays = unknown.has(key) || (member.until !== null && at < member.until);
      return stays ? [[key, member]] : [];
    }
    return [[key, condition.evidence === member.evidence ? member : memberOf(condition, member.count + 1)]];
  });
  return Object.fromEntries(kept);
}

function memberOf({ evidence, facts, until = null }: AlertCondition, count: number): AlertMember {
  return { count, evidence, name: facts.name, until };
}

function newDraft({ newId }: AlertsInput, rule: AlertRule, kind: AlertKind, subject: string): AlertDraft {
  const alert: Alert = {
    id: newId(rule.name, kind, subject),
    ...{ rule: rule.name, kind, subject, members: {}, to: rule.to },
    ...{ begunAt: null, endedAt: null, notifiedAt: null, snoozedUntil: null },
    ...{ isSilent: false, messages: 0, message: null },
  };
  return { alert, members: {}, condition: null };
}

function subjectOf({ group }: AlertRule, { key, facts }: AlertCondition, { rootOf }: AlertsInput): string {
  const { testId, assetId, owners = [] } = facts;
  if (group === 'owner') return owners.toSorted().join(', ') || key;
  if (group === 'asset') return assetId ?? key;
  if (group === 'cause') return assetId == null ? key : rootOf(assetId);
  return testId ?? key;
}

/** What happens to an alert with these conditions; null if nothing does. */
function settle(draft: AlertDraft, rule: AlertRule | null, input: AlertsInput): AlertChange | null {
  const { alert, members, condition } = draft;
  const { at } = input;
  const counts = Object.values(members).map(({ count }) => count);
  const changed = (changes: Partial<Alert>, event: AlertEvent | null): AlertChange => ({
    alert: { ...alert, members, ...changes },
    ...{ event: alert.isSilent || changes.isSilent === true ? null : event, isDropped: false, condition },
  });
  const said = { notifiedAt: at, messages: alert.messages + 1 };
  if (rule === null || counts.length === 0) {
    if (alert.begunAt === null) return { alert, event: null, isDropped: true, condition: null };
    // Whatever the clock does, an end is no earlier than what was said before.
    const endedAt = laterOf(at, alert.notifiedAt ?? alert.begunAt);
    return changed({ ...said, members: alert.members, endedAt }, 'end');
  }
  if (alert.begunAt === null) {
    const isSilent = condition?.isEarly === true || !input.applied.has(ruleKey(rule.name, alert.kind));
    if (isSilent) return changed({ begunAt: at, isSilent }, null);
    if (Math.max(...counts) >= rule.after) return changed({ ...said, begunAt: at, to: rule.to }, 'begin');
  } else if (isReminderDue(alert, rule, at)) return changed(said, 'remind');
  return isSame(alert.members, members) ? null : changed({}, null);
}

function isReminderDue({ isSilent, notifiedAt, snoozedUntil }: Alert, { remindSeconds }: AlertRule, at: Instant) {
  if (isSilent || remindSeconds === null || notifiedAt === null) return false;
  return at >= laterOf(addSeconds(notifiedAt, remindSeconds), snoozedUntil ?? at);
}

/** Members that did not change are the same objects. */
function isSame(one: Alert['members'], other: Alert['members']): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
