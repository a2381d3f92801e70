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
  newId(rule: string, kind: AlertKind, subject: string): string;
}

/** How an alert changes. A pending alert whose condition is gone is dropped. */
export interface AlertChange {
  readonly alert: Alert;
  readonly event: AlertEvent | null;
  readonly isDropped: boolean;
  /** What its message is about: a condition that is new in it, else any of its conditions; null if none is read. */
  readonly condition: AlertCondition | null;
}

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
    ...orphans.map((alert) => settle({ alert, members: new Map() }, null, null, input)),
    ...input.rules.flatMap((rule) =>
      rule.kinds
        .filter((kind) => input.kinds.includes(kind))
        .flatMap((kind) => decideRule(input, MOMENTS.has(kind) ? { ...rule, after: 1 } : rule, kind)),
    ),
  ].filter((change) => change !== null);
}

/** What happened once is never shown by a second result. */
const MOMENTS: ReadonlySet<AlertKind> = new Set(['column_dropped', 'column_type', 'history_gap']);

interface AlertDraft {
  readonly alert: Alert;
  readonly members: Map<string, AlertMember>;
}

function decideRule(input: AlertsInput, rule: AlertRule, kind: AlertKind): (AlertChange | null)[] {
  const ofKind = input.conditions.filter((condition) => condition.kind === kind);
  const byState = Map.groupBy(ofKind, (condition) => ruleState(rule, condition, input.environment));
  const standing = new Map(byState.get('holds')?.map((condition) => [condition.key, condition]));
  const unknown = new Set(byState.get('unknown')?.map(({ key }) => key));
  const held: AlertDraft[] = input.alerts
    .filter((alert) => alert.rule === rule.name && alert.kind === kind)
    .map((alert) => ({ alert, members: keptMembers(alert, { standing, unknown, at: input.at }) }));
  const byKey = new Map(held.flatMap((draft) => [...draft.members.keys()].map((key) => [key, draft] as const)));
  // New conditions never join a silent alert, or nobody would hear of them.
  const bySubject = new Map(
    held.filter(({ alert }) => !alert.isSilent).map((draft) => [draft.alert.subject, draft] as const),
  );
  const drafts = new Set(held);
  for (const [key, condition] of standing) {
    // A condition stays in its alert, even if its probable cause or its owner changes meanwhile.
    const draft = byKey.get(key) ?? draftFor(input, rule, condition, bySubject);
    drafts.add(draft);
    if (!byKey.has(key)) draft.members.set(key, memberOf(condition, 1));
  }
  return [...drafts].map((draft) => settle(draft, shownCondition(draft, standing, rule), rule, input));
}

/** A condition that no message has told yet, if there is one. */
function shownCondition(
  { members }: AlertDraft,
  standing: StandingConditions['standing'],
  rule: AlertRule,
): AlertCondition | null {
  const shown = [...members].filter(([key]) => standing.has(key));
  const [key] = shown.find(([, member]) => isNews(member, rule)) ?? shown[0] ?? [''];
  return standing.get(key) ?? null;
}

function isNews({ count, isTold }: AlertMember, { after }: AlertRule): boolean {
  return count >= after && !isTold;
}

interface StandingConditions {
  readonly standing: ReadonlyMap<string, AlertCondition>;
  readonly unknown: ReadonlySet<string>;
  readonly at: Instant;
}

function keptMembers(
  { members, isSilent }: Alert,
  { standing, unknown, at }: StandingConditions,
): Map<string, AlertMember> {
  const kept = Object.entries(members).flatMap(([key, member]): [string, AlertMember][] => {
    const condition = standing.get(key);
    if (condition === undefined) {
      const stays = unknown.has(key) || (member.until !== null && at < member.until);
      return stays ? [[key, member]] : [];
    }
    const { evidence, shownIn = Number.POSITIVE_INFINITY, rows } = condition;
    if (isSilent && rows !== member.rows) {
      // Nobody would hear of rows that are added to a silent alert.
      const hasNewRows = member.rows !== undefined && (rows ?? 0) > member.rows && condition.isEarly !== true;
      return hasNewRows ? [] : [[key, { ...member, rows }]];
    }
    if (evidence === member.evidence || shownIn <= Number(member.evidence)) return [[key, member]];
    // What lasts for a moment ends by itself, so new evidence is news.
    const isOver = member.until !== null;
    if (isOver && isSilent) return [];
    return [[key, { ...memberOf(condition, member.count + 1), isTold: member.isTold && !isOver }]];
  });
  return new Map(kept);
}

function memberOf({ evidence, facts, until = null, rows }: AlertCondition, count: number): AlertMember {
  const name = facts.dimension == null ? facts.name : `${facts.name} (${facts.dimension})`;
  return { count, evidence, name, until, rows, isTold: false };
}

/** The alert that a new condition joins; a new one if none has its subject. */
function draftFor(
  input: AlertsInput,
  rule: AlertRule,
  condition: AlertCondition,
  bySubject: Map<string, AlertDraft>,
): AlertDraft {
  const subject = subjectOf(rule, condition, input);
  const known = bySubject.get(subject);
  if (known !== undefined) return known;
  const alert: Alert = {
    id: input.newId(rule.name, condition.kind, subject),
    ...{ rule: rule.name, kind: condition.kind, subject, members: {}, to: rule.to },
    ...{ begunAt: null, endedAt: null, notifiedAt: null, snoozedUntil: null },
    ...{ isSilent: false, messages: 0, message: null },
  };
  const draft: AlertDraft = { alert, members: new Map() };
  bySubject.set(subject, draft);
  return draft;
}

function subjectOf({ group }: AlertRule, { key, facts }: AlertCondition, { rootOf }: AlertsInput): string {
  const { testId, assetId, owners = [] } = facts;
  if (group === 'owner') return owners.toSorted().join(', ') || key;
  if (group === 'asset') return assetId ?? key;
  if (group === 'cause') return assetId == null ? key : rootOf(assetId);
  return testId ?? key;
}

/** What happens to an alert with these conditions; null if nothing does. */
function settle(
  { alert, members: current }: AlertDraft,
  condition: AlertCondition | null,
  rule: AlertRule | null,
  input: AlertsInput,
): AlertChange | null {
  const { at } = input;
  const members = Object.fromEntries(current);
  const changed = (changes: Partial<Alert>, event: AlertEvent | null): AlertChange => {
    const said = event === null ? {} : { notifiedAt: at, messages: alert.messages + 1 };
    return { alert: { ...alert, members, ...said, ...changes }, event, isDropped: false, condition };
  };
  if (rule === null || current.size === 0) {
    if (alert.begunAt === null) return { alert, event: null, isDropped: true, condition: null };
    // Whatever the clock does, an end is no earlier than what was said before.
    const endedAt = laterOf(at, alert.notifiedAt ?? alert.begunAt);
    return changed({ members: alert.members, endedAt }, alert.isSilent ? null : 'end');
  }
  // No news: its rule is new, or its stream is read for the first time.
  const isExpected = condition?.isEarly === true || !input.applied.has(ruleKey(alert.rule, alert.kind));
  if (alert.begunAt === null && isExpected) return changed({ begunAt: at, isSilent: true }, null);
  const event = alert.isSilent ? null : eventOf(alert, members, rule, at);
  if (event === null) return isSame(alert.members, members) ? null : changed({}, null);
  const told = { members: withTold(members, rule) };
  return changed(event === 'begin' ? { ...told, begunAt: at, to: rule.to } : told, event);
}

function eventOf(alert: Alert, members: Alert['members'], rule: AlertRule, at: Instant): AlertEvent | null {
  const hasNews = Object.values(members).some((member) => isNews(member, rule));
  if (alert.begunAt === null) return hasNews ? 'begin' : null;
  if (alert.snoozedUntil !== null && at < alert.snoozedUntil) return null;
  return hasNews || isReminderDue(alert, rule, at) ? 'remind' : null;
}

/** No run begins exactly on time: reminders come up to this share of their interval early, so daily runs send each. */
const EARLY_SHARE = 0.05;

const MAX_EARLY_SECONDS = 600;

function isReminderDue({ notifiedAt }: Alert, { remindSeconds }: AlertRule, at: Instant): boolean {
  if (remindSeconds === null || notifiedAt === null) return false;
  const early = Math.min(Math.round(remindSeconds * EARLY_SHARE), MAX_EARLY_SECONDS);
  return at >= addSeconds(notifiedAt, remindSeconds - early);
}

function withTold(members: Alert['members'], { after }: AlertRule): Alert['members'] {
  const told = Object.entries(members).map(([key, member]) => [
    key,
    { ...member, isTold: member.isTold || member.count >= after },
  ]);
  return Object.fromEntries(told);
}

/** Members that did not change are the same objects. */
function isSame(one: Alert['members'], other: Alert['members']): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
