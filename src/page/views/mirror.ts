import type { VNode } from 'preact';
import type { EnvironmentTrust, MirrorTrust, StreamTrust } from '../../page-data/page-data.ts';
import { countOf, formatAge, formatCount, formatDuration, formatInstant } from '../format.ts';
import { html } from '../html.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { notice } from '../parts/notice.ts';
import { levelIcon, statusLabel } from '../parts/status.ts';
import { age, nowMs } from '../parts/time.ts';

export function mirrorView(mirror: MirrorTrust): VNode {
  const { environments, limited_to } = mirror;
  const warnings = [
    mirrorWarnings(mirror),
    ...environments.map((each) => environmentWarnings(each, nowMs.value)),
  ].flat().length;
  return html`<div>
    ${verdict(warnings, mirror)}
    ${list(mirrorWarnings(mirror))}
    <dl class="facts">${facts(mirror)}</dl>
    ${environments.map((each, i) => environmentSection(each, i, limited_to !== 'assets'))}
  </div>`;
}

function verdict(warnings: number, { environments, limited_to }: MirrorTrust): VNode {
  if (environments.length === 0) return notice('neutral', 'Your token sees no environment of this mirror.');
  if (environments.every(({ streams }) => streams.length === 0))
    return notice('neutral', 'Your token sees no stream of this mirror.');
  if (warnings > 0) return notice('warn', `With care: ${countOf(warnings, 'thing')} to check.`);
  return limited_to === 'assets'
    ? notice(
        'neutral',
        'Every stream below was complete within the last day. The other checks are not shown, because your token sees only some assets.',
      )
    : notice('good', 'Yes: every stream below was read completely within the last day, and nothing is held back.');
}

const DAY_MS = 86_400_000;
/** Outcomes of a stream's last run that need no attention. */
const HEALTHY_STATUSES: readonly (string | null)[] = ['done', null];

/** Why an environment of the mirror should not be trusted, one sentence each. */
function environmentWarnings({ missing_since, streams }: EnvironmentTrust, atMs: number): string[] {
  const missing =
    missing_since === null
      ? []
      : [`No longer listed since ${formatInstant(missing_since)}: its rows stay in the mirror.`];
  const each = streams.flatMap((stream) =>
    streamWarnings(stream, atMs).map((warning) => ({ stream: stream.stream, warning })),
  );
  const shared = Object.entries(Object.groupBy(each, ({ warning }) => warning));
  return [
    ...missing,
    ...shared.map(([warning, who = []]) => `${who.map(({ stream }) => stream).join(', ')}: ${warning}.`),
  ];
}

function streamWarnings(stream: StreamTrust, atMs: number): string[] {
  const { complete_at, status, error, held_count, rejected_count, gap_count } = stream;
  const warnings: (string | false)[] = [
    !HEALTHY_STATUSES.includes(status) && `the last read ended ${status}${error === null ? '' : `: ${error}`}`,
    complete_at === null && 'never read completely',
    complete_at !== null && atMs - Date.parse(complete_at) > DAY_MS && `last complete ${formatAge(complete_at, atMs)}`,
    (held_count ?? 0) > 0 && `${countOf(held_count ?? 0, 'deletion')} held back`,
    (rejected_count ?? 0) > 0 && `${countOf(rejected_count ?? 0, 'row')} rejected`,
    (gap_count ?? 0) > 0 && `${countOf(gap_count ?? 0, 'gap')} in the history`,
  ];
  return warnings.filter((warning) => warning !== false);
}

function mirrorWarnings({ limited_to, last_run, last_verify }: MirrorTrust): string[] {
  const warnings: (string | false)[] = [
    last_run === null && limited_to !== 'assets' && 'There has been no sync yet.',
    last_run !== null &&
      !['done', 'running'].includes(last_run.status) &&
      `The last sync ended ${last_run.status}${last_run.error === null ? '' : `: ${last_run.error}`}.`,
    last_verify !== null &&
      !last_verify.equal &&
      `The last verification found ${countOf(last_verify.difference_count, 'difference')} between the mirror and the service.`,
  ];
  return warnings.filter((warning) => warning !== false);
}

const list = (warnings: readonly string[]): VNode | null =>
  warnings.length === 0
    ? null
    : html`<ul class="warnings">${warnings.map((warning) => html`<li key=${warning}>${warning}</li>`)}</ul>`;

const fact = (name: VNode | string, value: VNode | string): VNode => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

function facts({ limited_to, last_run, last_verify, quota }: MirrorTrust): VNode[] {
  const missing = (text: string, isVisible: boolean): VNode =>
    html`<span class="faint">${isVisible ? text : 'not shown'}</span>`;
  const run =
    last_run === null
      ? missing('none yet', limited_to !== 'assets')
      : html`<span>${statusLabel(last_run.status)} ${age(last_run.ended_at ?? last_run.started_at)}${last_run.requests !== null && `, ${countOf(last_run.requests, 'request')}`}</span>`;
  const verified =
    last_verify === null
      ? missing('none recorded', limited_to === null)
      : html`<span>${levelIcon(last_verify.equal ? 'good' : 'bad')} ${last_verify.equal ? 'equal' : countOf(last_verify.difference_count, 'difference')}, ${age(last_verify.ended_at)}</span>`;
  const left =
    quota === null
      ? missing('not known', limited_to === null)
      : html`<span>${formatCount(quota.remaining)} of ${countOf(quota.limit, 'request')} left per ${formatDuration(quota.window_seconds)}, noted ${age(quota.noted_at)}</span>`;
  return [fact('Last sync', run), fact('Last verification', verified), fact('Quota', left)];
}

function environmentSection(environment: EnvironmentTrust, i: number, isVisible: boolean): VNode {
  const { env_id, name, cron, denied_scopes, pruned, streams } = environment;
  const warnings = environmentWarnings(environment, nowMs.value);
  const trusted = isVisible && streams.length > 0 ? 'good' : 'neutral';
  return html`<section key=${env_id} aria-labelledby="env-${i}">
    <h2 id="env-${i}" class="long">${levelIcon(warnings.length === 0 ? trusted : 'warn')} ${name}</h2>
    <p class="faint">${cron === null ? 'The service’s schedule is unknown.' : html`<span>The service’s schedule: <code>${cron}</code>.</span>`}
    ${denied_scopes.length > 0 && ` Your token has no access here to: ${denied_scopes.join(', ')}.`}
    ${pruned.map(({ history, before }) => ` ${history} before ${before.slice(0, '2026-11-20'.length)} is pruned.`)}</p>
    ${list(warnings)}
    ${dataTable({ caption: `Streams of ${name}`, columns: COLUMNS, rows: streams, keyOf: ({ stream }) => stream })}
  </section>`;
}

const count = (value: number | null): VNode | number => value ?? html`<span class="faint">not shown</span>`;

/** A count that should be zero. */
const warningCount = (value: number | null): VNode | number =>
  value ? html`<strong class="warn">${levelIcon('warn')} ${formatCount(value)}</strong>` : count(value);

const COLUMNS: readonly DataColumn<StreamTrust>[] = [
  { label: 'Stream', kind: 'name', cell: ({ stream }) => stream },
  { label: 'Complete', cell: ({ complete_at }) => age(complete_at) },
  { label: 'Rows', kind: 'number', cell: ({ rows }) => count(rows) },
  {
    label: 'Read as',
    term: 'mode',
    cell: ({ mode, reason }) =>
      html`<span>${mode ?? '–'}${reason !== null && reason !== mode && html` <span class="faint">(${reason})</span>`}</span>`,
  },
  {
    label: 'Ended',
    term: 'runStatus',
    cell: ({ status: ended, ended_at }) =>
      ended === null
        ? html`<span class="faint">not shown</span>`
        : html`<span>${statusLabel(ended)} ${age(ended_at, '')}</span>`,
  },
  { label: 'Held deletions', kind: 'number', cell: ({ held_count }) => warningCount(held_count) },
  { label: 'Rejected rows', kind: 'number', cell: ({ rejected_count }) => warningCount(rejected_count) },
  { label: 'Gaps', kind: 'number', cell: ({ gap_count }) => warningCount(gap_count) },
];
