import { describe, expect, test } from 'vitest';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { STATUS_COLORS } from '../../src/bi/dataset-columns.ts';
import { MARK } from '../../src/bi/generated-file.ts';
import { answerColumnsOf } from '../../src/bi/query.ts';
import { closed, listOf, text } from './forms.ts';
import { contentOf, filesOf, misfits } from './setup.ts';
import { chartPanels, GRAFANA_DASHBOARDS, type GrafanaPanel } from './tool-queries.ts';

const charts = Object.values<Chart>(CHARTS);

describe.each([
  ['sqlite', 'frser-sqlite-datasource'],
  ['postgresql', 'grafana-postgresql-datasource'],
] as const)('the dashboard for Grafana over %s', (database, plugin) => {
  const dashboard = GRAFANA_DASHBOARDS[database];
  const panels: readonly GrafanaPanel[] = dashboard.panels;
  const drawn = chartPanels(panels);
  const panelOf = (chart: Chart): GrafanaPanel => drawn.find(({ title }) => title === chart.title) as GrafanaPanel;

  test('it contains every chart once, with a data source that the reader selects', () => {
    expect(drawn.map(({ title }) => title).sort()).toEqual(charts.map(({ title }) => title).sort());
    const ids = [...panels, ...drawn].map(({ id }) => id);
    expect(new Set(ids).size).toBe(new Set([...panels, ...drawn]).size);
    for (const { datasource, targets } of drawn) {
      expect(datasource).toEqual({ type: plugin, uid: '$' + '{datasource}' });
      expect(targets).toHaveLength(1);
    }
    expect(dashboard.description).toContain(MARK);
    expect(dashboard.uid).toBe(`obsync-${database}`);
  });

  test('it has the sections of the first page as open rows, and the mirror in a row to open', () => {
    const rows = panels.filter(({ type }) => type === 'row') as (GrafanaPanel & { collapsed: boolean })[];
    expect(rows.map(({ title, collapsed }) => [title, collapsed])).toEqual([
      ['Failing now', false],
      ['Trend', false],
      ['Incidents', false],
      ['Coverage and health', false],
      ['The mirror', true],
    ]);
  });

  test('no two panels overlap, and those of an opened row are below it', () => {
    const cells = [...panels, ...drawn.filter((panel) => !panels.includes(panel))].flatMap(
      ({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels[0]?.gridPos.y).toBe(0);
  });

  test('settings refer only to columns that the query returns, or to the status of a series', () => {
    for (const chart of charts) {
      const { fieldConfig, options, targets } = panelOf(chart);
      const columns = answerColumnsOf(chart);
      for (const { matcher } of fieldConfig.overrides)
        if (matcher.id === 'byName') expect(columns.map(({ name }) => name)).toContain(matcher.options);
      if (options['xField'] !== undefined) expect(columns.map(({ name }) => name)).toContain(options['xField']);
      const times = columns.filter(({ type }) => type === 'time' || type === 'day').map(({ name }) => name);
      if (database === 'sqlite') expect(targets[0]?.timeColumns).toEqual(times);
    }
  });

  test('only a number that should be 0 has a threshold, and none has those that Grafana adds', () => {
    for (const chart of charts.filter(({ kind }) => kind === 'value')) {
      const { steps } = panelOf(chart).fieldConfig.defaults['thresholds'] as { steps: { value: number | null }[] };
      expect(steps.map(({ value }) => value)).toEqual('isBad' in chart ? [null, 1] : [null]);
    }
  });

  test('a rate is in percent, hours have their unit, and a line has visible points', () => {
    const overridesOf = (chart: Chart) => panelOf(chart).fieldConfig.overrides.flatMap(({ properties }) => properties);
    expect(overridesOf(CHARTS['pass-rate'])).toContainEqual({ id: 'unit', value: 'percentunit' });
    expect(overridesOf(CHARTS['mirror-age'])).toContainEqual({ id: 'unit', value: 'h' });
    for (const chart of charts.filter(({ kind }) => kind === 'line'))
      expect(panelOf(chart).fieldConfig.defaults['custom']).toMatchObject({ drawStyle: 'line', showPoints: 'always' });
  });

  test('a status has its colour as a count, as a series and in a cell', () => {
    const propertiesOf = (chart: Chart, matched: string) =>
      panelOf(chart).fieldConfig.overrides.find(({ matcher }) => matcher.options === matched)?.properties;
    const red = { id: 'color', value: { mode: 'fixed', fixedColor: STATUS_COLORS.FAIL } };
    expect(propertiesOf(CHARTS['failing-runs-daily'], 'fail')).toContainEqual(red);
    expect(propertiesOf(CHARTS['incidents-daily'], '/\\bFAIL$/')).toContainEqual(red);
    expect(propertiesOf(CHARTS['failing-list'], 'status')).toContainEqual({
      id: 'mappings',
      value: [{ type: 'value', options: expect.objectContaining({ FAIL: { color: STATUS_COLORS.FAIL, index: 2 } }) }],
    });
  });

  test('a name links to the address of its row, and a bar to the dashboard of its owner or schema', () => {
    const links = panelOf(CHARTS['failing-list']).fieldConfig.overrides.find(
      ({ matcher }) => matcher.options === 'asset_name',
    )?.properties;
    expect(JSON.stringify(links)).toContain('$' + '{__data.fields.url:raw}');
    expect(panelOf(CHARTS['failing-by-owner']).fieldConfig.defaults['links']).toMatchObject([
      { url: expect.stringMatching(new RegExp(`^/d/obsync-${database}\\?var-owner=`)) },
    ]);
    expect(panelOf(CHARTS['failing-by-schema']).fieldConfig.defaults['links']).toMatchObject([
      { url: expect.stringContaining('?var-schema=$' + '{__data.fields.schema_name:percentencode}&') },
    ]);
  });
});

describe('the provisioning files for Grafana', () => {
  const source = (db: string) =>
    contentOf(filesOf('grafana', { db }).get('provisioning/datasources/obsync.yaml')).datasources[0];

  test('the data source opens a mirror file read-only', () => {
    expect(source('/data/obsync.db')).toMatchObject({
      type: 'frser-sqlite-datasource',
      uid: 'obsync',
      jsonData: { pathPrefix: 'file://', path: '/data/obsync.db', pathOptions: expect.stringMatching(/^mode=ro&/) },
    });
  });

  test.each([
    ['postgres://bi:PASSW0RD@db.example.com:6432/ware$?schema=dq', 'db.example.com:6432', 'ware$$'],
    ['postgres://bi@%2Fvar%2Frun%2Fpostgresql/warehouse', '/var/run/postgresql:5432', 'warehouse'],
    ['postgres://bi@[::1]/warehouse', '[::1]:5432', 'warehouse'],
  ])('the data source names the server of %s, and takes the password from the environment', (db, url, database) => {
    expect(source(db)).toMatchObject({
      ...{ type: 'grafana-postgresql-datasource', uid: 'obsync', url, user: 'bi' },
      jsonData: { database, sslmode: '$PGSSLMODE' },
      secureJsonData: { password: '$PGPASSWORD' },
    });
    for (const { bytes } of filesOf('grafana', { db }).values()) expect(bytes.toString()).not.toContain('PASSW0RD');
  });

  test('the folder of the dashboard is the one that was written', () => {
    expect(contentOf(filesOf('grafana').get('provisioning/dashboards/obsync.yaml'))).toMatchObject({
      apiVersion: 1,
      providers: [{ type: 'file', options: { path: '/etc/dash/dashboards' } }],
    });
  });

  /** What Grafana reads from a file of rules, as far as obsync uses it. */
  const ALERTING = closed({
    apiVersion: { const: 1 },
    groups: listOf(
      closed({
        ...{ orgId: { type: 'integer' }, name: text, folder: text, interval: { const: '5m' } },
        rules: listOf(
          closed({
            ...{ uid: { type: 'string', pattern: '^[a-z-]{1,40}$' }, title: text, condition: { const: 'B' } },
            data: listOf(
              closed({
                ...{ refId: { enum: ['A', 'B'] }, 'relativeTimeRange?': { type: 'object' } },
                ...{ datasourceUid: { enum: ['obsync', '__expr__'] }, model: { type: 'object' } },
              }),
            ),
            ...{ noDataState: { enum: ['OK', 'Alerting'] }, execErrState: { const: 'Error' }, for: { const: '0s' } },
            ...{ annotations: { type: 'object' }, labels: { type: 'object' } },
          }),
        ),
      }),
    ),
  });

  test.each(['/data/obsync.db', 'postgres://bi@db.example.com/warehouse'])(
    'the rules over %s have the form that Grafana reads, and use no variable of a dashboard',
    (db) => {
      const file = filesOf('grafana', { db }).get('provisioning/alerting/obsync.yaml');
      expect(misfits(ALERTING, contentOf(file))).toEqual([]);
      expect(file?.bytes.toString()).not.toContain('$');
    },
  );
});
