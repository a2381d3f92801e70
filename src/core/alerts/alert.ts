import type { Instant } from '../time/instant.ts';

/** What an alert may be about. `token` and `quota` concern the whole mirror, all others one environment. */
export const ALERT_KINDS = [
  'test',
  'score',
  'column_dropped',
  'column_type',
  'history_gap',
  'held',
  'rejected',
  'unavailable',
  'stale',
  'token',
  'quota',
] as const;

export type AlertKind = (typeof ALERT_KINDS)[number];

/** What the conditions of one alert have in common. */
export const ALERT_GROUPS = ['test', 'asset', 'owner', 'cause'] as const;

type AlertGroup = (typeof ALERT_GROUPS)[number];

/** Which conditions lead to an alert, and where it goes. An empty list allows everything. */
export interface AlertRule {
  readonly name: string;
  readonly kinds: readonly AlertKind[];
  /** Ids or names. */
  readonly environments: readonly string[];
  readonly severities: readonly string[];
  readonly statuses: readonly string[];
  readonly tags: readonly string[];
  readonly owners: readonly string[];
  /** Beginnings of paths, of a test or of its asset. */
  readonly paths: readonly string[];
  /** Which scores of an asset: the names of dimensions, or `total`. */
  readonly dimensions: readonly string[];
  /** A score below this, or lower by this than a day before, is a condition; null if it does not matter. */
  readonly below: number | null;
  readonly by: number | null;
  /** Older than this is stale. */
  readonly maxAgeSeconds: number;
  /** How many results in a row must agree before the alert begins. */
  readonly after: number;
  /** Null for no reminders. */
  readonly remindSeconds: number | null;
  readonly group: AlertGroup;
  /** The names of channels. */
  readonly to: readonly string[];
}

/** What is known of the thing that a condition is about. */
export interface AlertFacts {
  /** Its name for people: of a test, asset, column or stream. */
  readonly name: string;
  readonly status?: string | null;
  readonly severity?: string | null;
  readonly owners?: readonly string[];
  readonly tags?: readonly string[];
  readonly paths?: readonly string[];
  readonly testId?: string | null;
  readonly assetId?: string | null;
  readonly assetName?: string | null;
  /** A score, a number of rows, or an age in seconds; `earlier` is the score a day before. */
  readonly value?: number | null;
  readonly earlier?: number | null;
  /** The dimension of a score; null for the total. */
  readonly dimension?: string | null;
  /** What else is to be said, such as the reason of a result. */
  readonly detail?: string | null;
  /** Since when it is so, by the source's clock; null if only the mirror knows. */
  readonly since?: Instant | null;
}

/** Something that a rule may match, as the mirror has it now. */
export interface AlertCondition {
  readonly kind: AlertKind;
  /** Identifies it among the conditions of its kind. */
  readonly key: string;
  /** Identifies what shows it, such as an execution. The same evidence counts once, however often it is read. */
  readonly evidence: string;
  /** For a stream: the last run that showed it. Until a later one does, it is a leftover, which counts no further. */
  readonly shownIn?: number;
  /** How many rows it is about, for `held` and `rejected`: more of them are news. */
  readonly rows?: number | undefined;
  readonly facts: AlertFacts;
  /** It happened at one moment, so its alert ends at this time; null for what ends when it is no longer so. */
  readonly until?: Instant | null;
  /** It belongs to the first reading of its stream, which causes no messages. */
  readonly isEarly?: boolean;
}

export interface AlertMember {
  /** How many results in a row showed it. */
  readonly count: number;
  readonly evidence: string;
  readonly name: string;
  readonly until: Instant | null;
  /** How many rows it was about, for `held` and `rejected`. */
  readonly rows?: number | undefined;
  /** Whether a message has reported it. */
  readonly isTold: boolean;
}

export interface Alert {
  readonly id: string;
  readonly rule: string;
  readonly kind: AlertKind;
  /** What its conditions have in common: a test, an asset, an owner. */
  readonly subject: string;
  readonly members: Readonly<Record<string, AlertMember>>;
  /** Null while there are fewer results in a row than the rule requires. */
  readonly begunAt: Instant | null;
  readonly endedAt: Instant | null;
  /** It existed before its rule; neither its beginning nor its end is sent. */
  readonly isSilent: boolean;
  /** When its last message was decided. */
  readonly notifiedAt: Instant | null;
  /** How many messages were decided. */
  readonly messages: number;
  readonly snoozedUntil: Instant | null;
  /** The channels of its rule when it began: its end goes to the same ones. */
  readonly to: readonly string[];
  /** What its beginning said; null until then. */
  readonly message: AlertMessage | null;
}

export type AlertEvent = 'begin' | 'remind' | 'end';

/** What one message says. It is stored, and each channel writes it in its own form. */
export interface AlertMessage {
  /** The id of the alert. */
  readonly alert: string;
  readonly event: AlertEvent;
  readonly rule: string;
  /** `sample` tests a channel. */
  readonly kind: AlertKind | 'sample';
  readonly environment: AlertEnvironment | null;
  readonly subject: string;
  readonly facts: AlertFacts;
  /** `environment`, `severity` and `owner` as they were at the beginning: they identify the alert in Alertmanager. */
  readonly labels: Readonly<Record<string, string>>;
  /** How many conditions it has, and the names of the first ones. */
  readonly count: number;
  readonly names: readonly string[];
  readonly begun_at: Instant;
  readonly ended_at: Instant | null;
  /** What depends on the asset, and what probably caused the failure; null if it is about no asset. */
  readonly impact: AlertImpact | null;
}

export interface AlertEnvironment {
  readonly id: string;
  readonly name: string;
}

export interface AlertImpact {
  readonly downstream_count: number;
  /** Whether there are more than were counted. */
  readonly downstream_cut: boolean;
  readonly dashboard_count: number;
  /** The first of them. */
  readonly dashboards: readonly { readonly name: string; readonly url: string | null }[];
  /** The nearest failing asset upstream. */
  readonly cause: { readonly asset_id: string; readonly name: string } | null;
}

/** Where messages go, with its secrets. `ping` is told of runs, all others of alerts. */
export type AlertChannel =
  | { readonly name: string; readonly type: 'slack' | 'teams' | 'alertmanager' | 'ping'; readonly url: string }
  | { readonly name: string; readonly type: 'webhook'; readonly url: string; readonly secret: string | null }
  | { readonly name: string; readonly type: 'exec'; readonly program: string; readonly args: readonly string[] };
