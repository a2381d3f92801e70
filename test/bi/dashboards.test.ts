import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { POSTGRESQL, SQLITE } from '../../src/bi/chart-dialect.ts';
import { CHARTS } from '../../src/bi/charts.ts';
import { MARK } from '../../src/bi/generated-file.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { filesUnder } from '../../src/export/export-files.ts';
import { folder } from '../cli/setup.ts';
import { SUPERSET } from './forms.ts';
import { contentOf, filesOf, misfits } from './setup.ts';

const titles = CHARTS.map(({ title }) => title);

describe('the dashboards for Grafana', () => {
  const files = filesOf('grafana');

  interface GrafanaPanel {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly datasource: { readonly type: string; readonly uid: string };
    readonly targets: readonly Readonly<Record<string, unknown>>[];
    readonly fieldConfig: { readonly overrides: readonly { readonly matcher: { readonly options: string } }[] };
    readonly options: Readonly<Record<string, unknown>>;
  }

  const KINDS = [
    ['sqlite', 'frser-sqlite-datasource', SQLITE, 'rawQueryText'],
    ['postgresql', 'grafana-postgresql-datasource', POSTGRESQL, 'rawSql'],
  ] as const;

  describe.each(KINDS)('over %s', (name, plugin, dialect, query) => {
    const dashboard = contentOf(files.get(`dashboards/${name}/obsync.json`));
    const panels: readonly GrafanaPanel[] = dashboard.panels;
    const drawn = panels.filter(({ type }) => type !== 'row');

    test('they contain every chart once, with a data source that the reader selects', () => {
      expect(drawn.map(({ title }) => title)).toEqual(titles);
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      expect(dashboard.templating.list).toMatchObject([{ name: 'datasource', type: 'datasource', query: plugin }]);
      for (const { datasource, targets } of drawn) {
        expect(datasource).toEqual({ type: plugin, uid: `\${${'datasource'}}` });
        expect(targets).toHaveLength(1);
      }
      expect(dashboard.description).toContain(MARK);
    });

    test('they use the queries of the list, and only columns that these return', () => {
      CHARTS.forEach((chart, i) => {
        const { targets, fieldConfig, options } = drawn[i] as GrafanaPanel;
        const columns = chart.columns.map((column) => column.name);
        expect(targets[0]?.[query]).toContain(chart.sql(dialect));
        for (const { matcher } of fieldConfig.overrides) expect(columns).toContain(matcher.options);
        if (options['xField'] !== undefined) expect(columns).toContain(options['xField']);
      });
    });

    test('no two panels overlap', () => {
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
    });
  });

  test('they query SQLite for RFC 3339 times, and name the columns that have them', () => {
    const mirror = openForWriting(`${folder()}/m.db`);
    const dashboard = contentOf(files.get('dashboards/sqlite/obsync.json'));
    const panels = (dashboard.panels as GrafanaPanel[]).filter(({ type }) => type !== 'row');
    mirror.connection.exec(
      "insert into environments (id, name, mirrored_at) values ('e', 'E', '2026-11-20T04:10:00.123456Z')",
    );
    const insert = mirror.connection.prepare(
      "insert into test_executions (env_id, sub_test_unique_id, id, test_id, sub_type, status, start_time, duration_seconds, mirrored_at) values ('e', 's', ?, 't', 'rows', 'FAIL', ?, 1, ?)",
    );
    const now = new Date().toISOString().replace('Z', '000Z');
    insert.run('x', now, now);
    CHARTS.forEach((chart, i) => {
      const target = panels[i]?.targets[0];
      const times = chart.columns.filter(({ type }) => type === 'date' || type === 'timestamp');
      expect(target?.['timeColumns']).toEqual(times.map(({ name }) => name));
      const rows = mirror.connection.prepare(String(target?.['rawQueryText'])).all() as Record<string, unknown>[];
      for (const { name } of times)
        for (const value of rows.map((row) => row[name]).filter((each) => each !== null))
          expect(String(value)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      if (chart.id === 'incidents-daily' || chart.id === 'pass-rate-daily') expect(rows).not.toEqual([]);
    });
    mirror.connection.close();
  });

  test('their provisioning files contain the data source of the mirror and the folder of the dashboard', () => {
    expect(contentOf(files.get('provisioning/datasources/obsync.yaml'))).toMatchObject({
      apiVersion: 1,
      datasources: [
        {
          type: 'frser-sqlite-datasource',
          jsonData: { pathPrefix: 'file://', path: '/data/obsync.db', pathOptions: expect.stringMatching(/^mode=ro&/) },
        },
      ],
    });
    expect(contentOf(files.get('provisioning/dashboards/obsync.yaml'))).toMatchObject({
      apiVersion: 1,
      providers: [{ type: 'file', options: { path: '/etc/dash/dashboards/sqlite' } }],
    });
  });
});

describe.each([
  ['sqlite', SQLITE, 'sqlite:///file:/data/obsync.db?mode=ro&uri=true'],
  ['postgresql', POSTGRESQL, 'postgresql://obsync@localhost/obsync'],
] as const)('the import for Superset over %s', (name, dialect, uri) => {
  const file = filesOf('superset').get(`obsync-${name}.zip`);
  const entries = Object.entries(unzipSync(file?.bytes ?? new Uint8Array()));
  const contents = new Map(entries.map(([path, bytes]) => [path, contentOf({ bytes })]));
  const inFolder = (folder: string) =>
    [...contents].filter(([path]) => path.startsWith(`obsync/${folder}/`)).map(([, content]) => content);

  test('its files match the schemas that Superset imports, in one folder', () => {
    for (const [path, content] of contents) {
      const [root, part = ''] = path.split('/');
      expect(root).toBe('obsync');
      expect(misfits(SUPERSET[part] ?? { not: {} }, content)).toEqual([]);
    }
    expect(inFolder('databases')).toMatchObject([{ sqlalchemy_uri: uri }]);
  });

  test('it contains every chart once, on a data set with its query and columns', () => {
    expect(inFolder('charts').map(({ slice_name }) => slice_name)).toEqual(titles);
    const database = inFolder('databases')[0].uuid;
    CHARTS.forEach((chart, i) => {
      const [drawn, dataset] = [inFolder('charts')[i], inFolder('datasets')[i]];
      expect(dataset).toMatchObject({ uuid: drawn.dataset_uuid, database_uuid: database });
      expect(dataset.sql).toBe(chart.sql(dialect));
      const columns = chart.columns.map((column) => column.name);
      expect(dataset.columns.map((column: { column_name: string }) => column.column_name)).toEqual(columns);
      const { metric, metrics = [], groupby = [], all_columns = [], x_axis } = drawn.params;
      const measures = [...metrics, metric].filter((each) => each !== undefined);
      const named = [...measures.map(({ column }) => column.column_name), ...groupby, ...all_columns, x_axis];
      const known = named.filter((column) => column !== undefined);
      expect(known).not.toEqual([]);
      expect(columns).toEqual(expect.arrayContaining(known));
    });
  });

  test('its dashboard is one consistent tree that contains every chart', () => {
    const { position } = inFolder('dashboards')[0];
    const { DASHBOARD_VERSION_KEY, HEADER_ID, ...nodes } = position;
    expect({ DASHBOARD_VERSION_KEY, HEADER_ID }).toMatchObject({ DASHBOARD_VERSION_KEY: 'v2', HEADER_ID: {} });
    const shown: string[] = [];
    const visit = (id: string, parents: readonly string[]): void => {
      const node = nodes[id];
      expect(node).toMatchObject({ id, parents });
      if (node.type === 'CHART') shown.push(node.meta.uuid);
      if (node.type === 'ROW')
        expect(
          node.children.map((each: string) => nodes[each].meta.width).reduce((a: number, b: number) => a + b),
        ).toBeLessThanOrEqual(12);
      for (const child of node.children) visit(child, [...parents, id]);
    };
    visit('ROOT_ID', []);
    expect(shown).toEqual(inFolder('charts').map(({ uuid }) => uuid));
  });

  test('it is the same byte for byte each time, and says that obsync wrote it', () => {
    const again = filesOf('superset').get(`obsync-${name}.zip`);
    expect(Buffer.from(again?.bytes ?? []).equals(Buffer.from(file?.bytes ?? []))).toBe(true);
    expect(Buffer.from(file?.bytes ?? []).includes(MARK)).toBe(true);
  });
});

test('the Superset imports of the two databases share no id', () => {
  const ids = ['sqlite', 'postgresql'].map((name) => {
    const bytes = filesOf('superset').get(`obsync-${name}.zip`)?.bytes ?? new Uint8Array();
    return Object.values(unzipSync(bytes)).flatMap((each) => contentOf({ bytes: each }).uuid ?? []);
  });
  expect(new Set(ids.flat()).size).toBe(ids.flat().length);
});

describe('a mirror path with characters that are special in a URI or in Grafana', () => {
  /** A provisioning text as Grafana expands it, without environment variables. */
  const provisioned = (text: string) =>
    text
      .split('$$')
      .map((part) => part.replaceAll(/\$(\w+|\{[^}]*\})/g, ''))
      .join('$');

  const grafanaUri = (db: string) => {
    const [source] = contentOf(filesOf('grafana', { db }).get('provisioning/datasources/obsync.yaml')).datasources;
    const { pathPrefix, path, pathOptions } = source.jsonData;
    return `${pathPrefix}${provisioned(path)}?${pathOptions}`;
  };

  const supersetUri = (db: string) => {
    const bytes = filesOf('superset', { db }).get('obsync-sqlite.zip')?.bytes ?? new Uint8Array();
    const database = contentOf({ bytes: unzipSync(bytes)['obsync/databases/obsync.yaml'] ?? new Uint8Array() });
    return String(database.sqlalchemy_uri).replace(/^sqlite:\/\/\//, '');
  };

  test.each([
    ['Grafana', grafanaUri],
    ['Superset', supersetUri],
  ])('%s opens the right file', (_, uriOf) => {
    const within = folder();
    for (const name of ['my#m.db', 'a?b.db', '100%25.db', "it's a.db", 'a\\b.db', '$HOME $x.db', 'é:@&=;.db']) {
      const path = `${within}/${name}`;
      writeFileSync(path, '');
      const made = new DatabaseSync(path);
      made.exec('create table t as select 7 as seven');
      made.close();
      const opened = new DatabaseSync(new URL(uriOf(path)));
      expect([name, opened.prepare('select seven from t').get()]).toEqual([name, { seven: 7 }]);
      opened.close();
    }
    expect(filesUnder(within)).toHaveLength(7);
  });

  test('each $ is doubled for Grafana, also in the folder of the dashboards', () => {
    const files = filesOf('grafana', { db: '/d/$HOME.db', to: '/etc/$x/$$' });
    expect(contentOf(files.get('provisioning/datasources/obsync.yaml')).datasources[0].jsonData.path).toBe(
      '/d/$$HOME.db',
    );
    expect(contentOf(files.get('provisioning/dashboards/obsync.yaml')).providers[0].options.path).toBe(
      '/etc/$$x/$$$$/dashboards/sqlite',
    );
  });
});
