import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { MARK } from '../../src/bi/generated-file.ts';
import { SUPERSET } from './forms.ts';
import { contentOf, filesOf, misfits } from './setup.ts';

const titles = Object.values<Chart>(CHARTS).map(({ title }) => title);

describe.each([
  ['sqlite', '/data/obsync.db', 'sqlite:///file:/data/obsync.db?mode=ro&uri=true'],
  ['postgresql', 'postgres://bi@db.example.com/warehouse', 'postgresql://bi:XXXXXXXXXX@db.example.com:5432/warehouse'],
] as const)('the import for Superset over %s', (name, db, uri) => {
  const file = filesOf('superset', { db }).get(`obsync-${name}.zip`);
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

test('the Superset imports of the two databases share no id', () => {
  const ids = [
    ['sqlite', '/data/obsync.db'],
    ['postgresql', 'postgres://bi@db.example.com/warehouse'],
  ].map(([name, db = '']) => {
    const bytes = filesOf('superset', { db }).get(`obsync-${name}.zip`)?.bytes ?? new Uint8Array();
    return Object.values(unzipSync(bytes)).flatMap((each) => contentOf({ bytes: each }).uuid ?? []);
  });
  expect(new Set(ids.flat()).size).toBe(ids.flat().length);
});
