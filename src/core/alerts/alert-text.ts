import { pageAddress } from '../page-address.ts';
import type { AlertFacts, AlertMessage } from './alert.ts';

export interface AlertText {
  readonly title: string;
  /** What else is known, a line each. */
  readonly lines: readonly string[];
  /** The page that shows it; null without `serve`. */
  readonly link: string | null;
}

/** Writes a message in words: what, since when, whose, what depends on it, and the probable cause. */
export function messageText(message: AlertMessage, pageUrl: string | null): AlertText {
  const { event, kind, facts, names, count, environment, begun_at: begun, ended_at: ended } = message;
  const prefix = kind === 'sample' ? '' : { begin: '', remind: 'Still open: ', end: 'Ended: ' }[event];
  const more = count > 1 ? ` and ${count - 1} more` : '';
  const where = environment === null ? '' : ` (${environment.name})`;
  const title = `${prefix}${headline(message)}${more}${where}`;
  const listed = count > 1 ? [`Affected: ${names.join(', ')}${count > names.length ? ', …' : ''}`] : [];
  const times = [`Since: ${shown(facts.since ?? begun)}`, ...(ended === null ? [] : [`Ended: ${shown(ended)}`])];
  return {
    title,
    lines: [...listed, ...details(facts), ...closing(message), ...impactLines(message), ...times],
    link: linkOf(message, pageUrl),
  };
}

const hasFallen = ({ value, earlier }: AlertFacts): boolean => value != null && earlier != null && earlier > value;

function headline({ kind, facts }: AlertMessage): string {
  const { name, status, value, earlier, assetName, dimension } = facts;
  const on = assetName == null ? '' : ` of ${assetName}`;
  switch (kind) {
    case 'test':
      return `Test ${name} ${status === 'WARN' ? 'warns' : status === 'ERROR' ? 'cannot run' : 'fails'}${assetName == null ? '' : ` on ${assetName}`}`;
    case 'score':
      return `Health score${dimension == null ? '' : ` (${dimension})`} of ${name} ${hasFallen(facts) ? `fell from ${rounded(earlier)} to ${rounded(value)} within a day` : `is ${rounded(value)}`}`;
    case 'column_dropped':
      return `Column ${name}${on} was dropped`;
    case 'column_type':
      return `Column ${name}${on} changed its type`;
    case 'history_gap':
      return `The history of test ${name} has a gap`;
    case 'held':
      return `${value} removals of ${name} are held back`;
    case 'rejected':
      return `${value} rows of ${name} are rejected`;
    case 'unavailable':
      return `The service no longer has ${name}`;
    case 'stale':
      return `The mirror is stale: ${name} ${value == null ? 'was never read to its end' : `is ${hours(value)} old`}`;
    case 'token':
      return 'The service refuses the token';
    case 'quota':
      return 'The quota of the account is exhausted';
    case 'sample':
      return 'Test message of obsync';
  }
}

const rounded = (score: number | null | undefined): string =>
  score == null ? '' : String(Math.round(score * 1000) / 1000);

function hours(seconds: number): string {
  return seconds < 7200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3600)} hours`;
}

function details({ detail, severity, owners = [] }: AlertFacts): string[] {
  return [
    ...(detail == null || detail === '' ? [] : [detail]),
    ...(severity == null ? [] : [`Severity: ${severity}`]),
    ...(owners.length === 0 ? [] : [`Owner: ${owners.join(', ')}`]),
  ];
}

/** A fall ends after a day even if the score stays low. */
function closing({ event, kind, facts }: AlertMessage): string[] {
  if (event !== 'end' || kind !== 'score' || !hasFallen(facts)) return [];
  return ['It is no longer so much lower than a day before; it may still be low'];
}

function impactLines({ impact }: AlertMessage): string[] {
  if (impact === null) return [];
  const { downstream_count: count, downstream_cut: isCut, dashboard_count: dashboards } = impact;
  const names = impact.dashboards.map(({ name }) => name).join(', ');
  return [
    ...(impact.cause === null ? [] : [`Probable cause: ${impact.cause.name} (upstream) is failing too`]),
    `Downstream: ${count}${isCut ? ' or more' : ''} ${count === 1 ? 'asset' : 'assets'}`,
    ...(dashboards === 0 ? [] : [`Dashboards: ${names}${dashboards > impact.dashboards.length ? ', …' : ''}`]),
  ];
}

function shown(instant: string): string {
  return `${instant.slice(0, 16).replace('T', ' ')} UTC`;
}

function linkOf({ kind, environment, facts }: AlertMessage, pageUrl: string | null): string | null {
  if (pageUrl === null) return null;
  const env = environment === null ? '' : `?env=${encodeURIComponent(environment.id)}`;
  const asset = facts.assetId == null ? '' : `&id=${encodeURIComponent(facts.assetId)}`;
  const view = kind === 'test' ? 'failing' : asset === '' ? 'mirror' : 'asset';
  return `${pageAddress(pageUrl, view)}${env}${view === 'asset' ? asset : ''}`;
}
