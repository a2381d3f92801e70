import type { VNode } from 'preact';
import { DEFAULT_PARAMETERS, TREND_DAYS } from '../../page-data/default-parameters.ts';
import type { EnvironmentTrust, TrendGroup, Trends } from '../../page-data/page-data.ts';
import { formatCount, formatFraction } from '../format.ts';
import { component, html } from '../html.ts';
import { liveState } from '../live-data.ts';
import { changeValues } from '../navigation.ts';
import type { PageQuery } from '../page-source.ts';
import { LineChart } from '../parts/line-chart.ts';
import { liveView, useLiveQueries } from '../parts/live-view.ts';
import { notice } from '../parts/notice.ts';
import type { ViewFrame } from '../view-frame.ts';
import { groupsTable, incidentsSentence, trendAnswer } from './trend-groups.ts';

/** The dimensions to compare by, and the name of the group that has no value for one. */
const GROUPINGS: Readonly<Record<string, readonly [label: string, none: string]>> = {
  owner: ['owner', 'without an owner'],
  schema: ['schema', 'without a schema'],
  test_type: ['test type', 'without a type'],
  tag: ['tag', 'without a tag'],
};
const DAYS = TREND_DAYS.map(String);

export function trendsView({ environment, environments, values }: ViewFrame): VNode {
  const days = DAYS.find((each) => each === values['days']) ?? String(DEFAULT_PARAMETERS.days);
  const by = values['by'] ?? 'owner';
  const whole = trendsQuery(environment.env_id, { days });
  return html`<div>
    ${liveView(whole, (trends) => html`<div>${answer(trends)}${controls(by, days, environments)}${charts(trends)}</div>`)}
    ${by === 'environment' ? component(ByEnvironment, { environments, days }) : byGroup(environment.env_id, by, days)}
  </div>`;
}

const trendsQuery = (env: string, parameters: Readonly<Record<string, string>>): PageQuery<'trends'> => ({
  name: 'trends',
  env,
  parameters,
});

function answer({ groups }: Trends): VNode {
  const [all] = groups;
  if (all === undefined) return notice('neutral', 'The mirror has no test runs in this period.');
  const { level, text } = trendAnswer(all);
  return notice(level, `${text} ${incidentsSentence(all)}`);
}

function controls(by: string, days: string, environments: readonly EnvironmentTrust[]): VNode {
  const change =
    (name: string) =>
    ({ currentTarget }: { currentTarget: HTMLSelectElement }): void =>
      changeValues({ [name]: currentTarget.value }, { isStep: true });
  const groupings = Object.entries(GROUPINGS).map(([name, [label]]): [string, string] => [name, label]);
  const all = environments.length > 1 ? [...groupings, ['environment', 'environment'] as const] : groupings;
  return html`<div class="controls">
    <label>Compare by <select value=${by} onChange=${change('by')}>${all.map(([name, label]) => html`<option key=${name} value=${name} selected=${name === by}>${label}</option>`)}</select></label>
    <label>Days <select value=${days} onChange=${change('days')}>${DAYS.map((each) => html`<option key=${each} value=${each} selected=${each === days}>${each}</option>`)}</select></label>
  </div>`;
}

/** `total` and the weakest dimensions: more lines would be indistinguishable. */
const MAX_LINES = 6;

function charts({ days, groups, health }: Trends): VNode {
  const [all] = groups;
  const scored = health
    .filter(({ scores }) => scores.some((score) => score !== null))
    .sort((one, other) => weakness(one) - weakness(other))
    .slice(0, MAX_LINES)
    .map(({ dimension, scores }) => ({ label: dimension, values: scores }));
  return html`<div class="charts">
    ${all !== undefined && component(LineChart, { title: 'Pass rate', days, lines: [{ label: 'pass rate', values: all.pass_rate }], format: formatFraction, fromZero: false })}
    ${all !== undefined && component(LineChart, { title: 'Incidents', days, lines: incidentLines(all), format: formatCount, fromZero: true })}
    ${scored.length > 0 && component(LineChart, { title: 'Health', days, lines: scored, format: formatFraction, fromZero: false })}
  </div>`;
}

/** The latest score; `total` comes first. */
function weakness({ dimension, scores }: Trends['health'][number]): number {
  return dimension === 'total' ? -1 : (scores.findLast((score) => score !== null) ?? 1);
}

const incidentLines = ({ incidents_opened, incidents_resolved }: TrendGroup) => [
  { label: 'opened', values: incidents_opened },
  { label: 'resolved', values: incidents_resolved },
];

function byGroup(env: string, by: string, days: string): VNode | null {
  const [label, none] = GROUPINGS[by] ?? [];
  if (label === undefined || none === undefined) return null;
  return liveView(trendsQuery(env, { by, days }), ({ groups, cut }) => {
    const caption = `By ${label}, ${cut ? 'the groups with the most runs' : 'all groups'}. The newer half of the days is compared with the older half`;
    return groupsTable(groups, caption, none);
  });
}

/** Each environment has a query of its own. */
function ByEnvironment({ environments, days }: Pick<ViewFrame, 'environments'> & { readonly days: string }): VNode {
  const queries = environments.map(({ env_id }) => trendsQuery(env_id, { days }));
  useLiveQueries(queries);
  const groups = queries.flatMap((query, i): TrendGroup[] => {
    const [all] = liveState(query).data?.groups ?? [];
    return all === undefined ? [] : [{ ...all, name: environments[i]?.name ?? null }];
  });
  const caption = 'By environment. The newer half of the days is compared with the older half';
  return groupsTable(groups, caption, 'without a name');
}
