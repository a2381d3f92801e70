import { describe, expect, test } from 'vitest';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { BI_METRICS } from '../../src/bi/dataset.ts';
import { STATUS_COLORS } from '../../src/bi/dataset-columns.ts';
import { MARK } from '../../src/bi/generated-file.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { folder } from '../cli/setup.ts';
import { CA_FILE } from '../support/tls-server.ts';
import { SUPERSET } from './forms.ts';
import { archived, filesOf, misfits } from './setup.ts';
import { day, fillSmallMirror } from './small-mirror.ts';

const titles = Object.values<Chart>(CHARTS).map(({ title }) => title);

describe.each([
  ['sqlite', '/data/obsync.db', 'sqlite:///file:/data/obsync.db?mode=ro&uri=true'],
  ['postgresql', 'postgres://bi@db.example.com/warehouse', 'postgresql://bi:XXXXXXXXXX@db.example.com:5432/warehouse'],
] as const)('the import for Superset over %s', (name, db, uri) => {
  const file = filesOf('superset', { db }).get(`obsync-${name}.zip`);
  const contents = archived(`obsync-${name}.zip`, { db });
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

  test('it contains every chart once, on a dataset with its columns', () => {
    expect(inFolder('charts').map(({ slice_name }) => slice_name)).toEqual(titles);
    const database = inFolder('databases')[0].uuid;
    for (const drawn of inFolder('charts')) {
      const dataset = inFolder('datasets').find(({ uuid }) => uuid === drawn.dataset_uuid);
      expect(dataset).toMatchObject({ database_uuid: database });
      const columns = dataset.columns.map((column: { column_name: string }) => column.column_name);
      const { groupby = [], x_axis } = drawn.params;
      const named = [...groupby, x_axis].filter((column) => column !== undefined);
      expect(columns).toEqual(expect.arrayContaining(named));
    }
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
    const again = filesOf('superset', { db }).get(`obsync-${name}.zip`);
    expect(Buffer.from(again?.bytes ?? []).equals(Buffer.from(file?.bytes ?? []))).toBe(true);
    expect(Buffer.from(file?.bytes ?? []).includes(MARK)).toBe(true);
  });
});

describe('the charts for Superset', () => {
  const contents = archived('obsync-sqlite.zip');
  const drawn = (kind: Chart['kind']) =>
    Object.entries<Chart>(CHARTS)
      .filter(([, chart]) => chart.kind === kind)
      .map(([id, chart]) => ({ ...chart, params: contents.get(`obsync/charts/${id}.yaml`).params }));

  test('a status has its colour everywhere on the dashboard, and in the cells of a list', () => {
    expect(contents.get('obsync/dashboards/obsync.yaml').metadata.label_colors).toEqual(STATUS_COLORS);
    for (const [status, colorScheme] of Object.entries(STATUS_COLORS))
      expect(contents.get('obsync/charts/failing-list.yaml').params.conditional_formatting).toContainEqual(
        expect.objectContaining({ column: 'status', targetValue: status, colorScheme }),
      );
  });

  test('a number has the format of its unit, and is red above 0 only if it should be 0', () => {
    const formats = { count: ',d', fraction: '.1%', hours: ',.1f' };
    for (const { title, metrics, isBad = false, params } of drawn('value')) {
      const units = metrics.map((name) => formats[BI_METRICS[name].unit]);
      expect([title, params.y_axis_format]).toEqual([title, ...units]);
      expect([title, 'conditional_formatting' in params]).toEqual([title, isBad]);
    }
  });

  test('a line has visible points, so that it is seen on the first day', () => {
    expect(drawn('line').map(({ params }) => params.markerEnabled)).toEqual([true, true]);
  });

  test('bars are sorted by their number, the highest first', () => {
    const bars = drawn('bar');
    expect(bars).toHaveLength(2);
    for (const { metrics, params } of bars)
      expect(params).toMatchObject({ show_cell_bars: true, timeseries_limit_metric: metrics[0], order_desc: true });
  });

  test('bars are in a list that scrolls, so no schema is left out after the first 20', () => {
    expect(drawn('bar').map(({ params }) => params.row_limit)).toEqual([1000, 1000]);
  });

  test('a long text is cut at the width of its column, so that status, owners and link are seen without scrolling', () => {
    const { column_config } = contents.get('obsync/charts/failing-list.yaml').params;
    for (const name of ['asset_name', 'test_name', 'reason', 'owners'])
      expect(column_config[name]).toEqual({ columnWidth: expect.any(Number), truncateLongCells: true });
  });
});

test.each([
  ['sslmode=verify-full', 'db.example.com:5432/warehouse?sslmode=verify-full'],
  ['sslrootcert=system', 'db.example.com:5432/warehouse?sslmode=verify-full'],
  ['sslmode=require', 'db.example.com:5432/warehouse?sslmode=require'],
  [`sslmode=require&sslrootcert=${CA_FILE}`, 'db.example.com:5432/warehouse?sslmode=verify-ca'],
  ['sslmode=require&host=/run/pg', '/warehouse?host=%2Frun%2Fpg&port=5432'],
])('Superset encrypts its connection to PostgreSQL as %s says', (parameters, place) => {
  const db = `postgres://bi@db.example.com/warehouse?${parameters}`;
  const database = archived('obsync-postgresql.zip', { db }).get('obsync/databases/obsync.yaml');
  expect(database).toMatchObject({ sqlalchemy_uri: `postgresql://bi:XXXXXXXXXX@${place}` });
});

test('the Superset imports of the two databases share no id', () => {
  const ids = [
    ['sqlite', '/data/obsync.db'],
    ['postgresql', 'postgres://bi@db.example.com/warehouse'],
  ].flatMap(([name, db = '']) =>
    [...archived(`obsync-${name}.zip`, { db }).values()].flatMap(({ uuid }) => uuid ?? []),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

describe('the datasets for Superset over SQLite', () => {
  const sqlOf = (dataset: string, pageUrl: string | null = null): string =>
    archived('obsync-sqlite.zip', { pageUrl }).get(`obsync/datasets/obsync/${dataset}.yaml`).sql;
  const ask = (sql: string): unknown => {
    const mirror = openForWriting(`${folder()}/m.db`);
    fillSmallMirror(mirror.db);
    const answer = mirror.connection.prepare(sql).pluck().all();
    mirror.connection.close();
    return answer;
  };

  test('their times and days compare with a time as Superset writes it, and are what its time grains return', () => {
    const noon = `'${day(1)} 12:00:00'`;
    const failing = sqlOf('failing_tests');
    expect(ask(`select count(*) from (${failing}) where start_time >= ${noon} and test_name = 'own'`)).toEqual([2]);
    expect(ask(`select count(*) from (${failing}) where start_time < ${noon} and test_name = 'own'`)).toEqual([0]);
    const midnight = `'${day(3)} 00:00:00'`;
    const days = `select distinct datetime(day, 'start of day') = day from (${sqlOf('test_runs')})`;
    expect(ask(`${days} where day >= ${midnight} and day <= ${midnight}`)).toEqual([1]);
  });

  test('their links are HTML that no address can leave', () => {
    const page = 'https://dq.example.com/a"\'b/';
    const url = `${page.replace('"', '%22')}#/asset?env=here&id=items`;
    const sql = `select distinct url from (${sqlOf('failing_tests', page)}) where test_name = 'own'`;
    expect(ask(sql)).toEqual([`<a href="${url}" target="_blank">open</a>`]);
  });
});

test('the archive for the API of Superset has the same files as the one for its pages', () => {
  const [page, api] = [archived('obsync-sqlite.zip'), archived('obsync-sqlite-assets.zip')];
  const type = { version: '1.0.0', type: 'assets' };
  expect([...api]).toEqual([...page.set('obsync/metadata.yaml', type)]);
});
