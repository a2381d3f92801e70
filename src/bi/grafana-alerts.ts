import { chart } from './charts.ts';
import type { MirrorSource } from './grafana-source.ts';
import { chartSql } from './query.ts';

/**
 * The only metric of a rule's rows is compared with `above`, in each environment; `noData` is what an answer without
 * rows means. The question is the summary of an alert. The templates use `.Labels`, since Grafana may take `$labels`
 * for a variable of its environment.
 */
const RULES = [
  {
    id: 'stale',
    rows: chart('table', 'The mirror is stale', 'environments', {
      question: 'A stream of {{ .Labels.env_name }} was not synced for two hours',
      columns: ['env_name'],
      metrics: ['hours since sync'],
      where: 'hours_since_sync is not null',
    }),
    above: 2,
    noData: 'Alerting',
    severity: 'critical',
    threshold: 'Two hours: more than the interval between syncs',
  },
  {
    id: 'failing',
    rows: chart('table', 'Tests are failing', 'failing_tests', {
      question: 'Tests of {{ .Labels.env_name }} have the result FAIL or ERROR',
      columns: ['env_name'],
      metrics: ['failing tests'],
      where: "status in ('FAIL', 'ERROR')",
    }),
    above: 0,
    noData: 'OK',
    severity: 'warning',
    threshold: 'None; tests that only warn do not count',
  },
];

/** Rules over the SQL itself: alerting does not know the variables of a dashboard. */
export function grafanaAlertRules({ target, dialect }: MirrorSource): object {
  const rules = RULES.map(({ id, rows, above, noData, severity, threshold }) => {
    const query = { refId: 'A', ...target(chartSql(rows, dialect, []), []) };
    const conditions = [{ evaluator: { type: 'gt', params: [above] } }];
    const condition = { refId: 'B', type: 'threshold', expression: 'A', conditions };
    return {
      uid: `obsync-${id}`,
      title: rows.title,
      condition: 'B',
      data: [
        { refId: 'A', relativeTimeRange: { from: 600, to: 0 }, datasourceUid: 'obsync', model: query },
        { refId: 'B', datasourceUid: '__expr__', model: condition },
      ],
      noDataState: noData,
      execErrState: 'Error',
      for: '0s',
      annotations: { summary: rows.question, threshold },
      labels: { severity },
    };
  });
  return { orgId: 1, name: 'obsync', folder: 'obsync', interval: '5m', rules };
}
