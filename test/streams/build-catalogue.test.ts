import { describe, expect, expectTypeOf, test } from 'vitest';
import { idsParameterOf } from '../../src/core/stream.ts';
import { assets } from '../../src/streams/assets.ts';
import { biAssets } from '../../src/streams/bi-assets.ts';
import { buildCatalogue } from '../../src/streams/build-catalogue.ts';
import { CATALOGUE, STREAM_NAMES } from '../../src/streams/catalogue.ts';
import { columnLineage } from '../../src/streams/column-lineage.ts';
import { columns } from '../../src/streams/columns.ts';
import { type CollectionEndpoint, oneOf, parentOneOf } from '../../src/streams/endpoint.ts';
import type { CollectionEntry } from '../../src/streams/entry.ts';
import { tableAssets } from '../../src/streams/table-assets.ts';
import { testExecutions } from '../../src/streams/test-executions.ts';
import { tests } from '../../src/streams/tests.ts';

test('a stream marks rows for its dependents, as their entries say (R13, R18, R22)', () => {
  const entries = [assets, tableAssets, biAssets, columns, tests, columnLineage];
  expect(Object.fromEntries(buildCatalogue(entries).map(({ name, marks }) => [name, marks]))).toEqual({
    assets: [
      { stream: 'table_assets', id: 'id', on: 'shown', where: { field: 'kind', is: 'table' } },
      { stream: 'bi_assets', id: 'id', on: 'shown', where: { field: 'kind', is: 'bi' } },
      { stream: 'columns', id: 'id', on: 'moved' },
      { stream: 'tests', id: 'id', on: 'moved' },
    ],
    table_assets: [],
    bi_assets: [],
    columns: [{ stream: 'column_lineage', id: 'id', on: 'shown' }],
    tests: [],
    column_lineage: [],
  });
});

test('every stream that an entry names is in the catalogue', () => {
  const named = CATALOGUE.flatMap(({ dependencies, marks, reopens, cascadeMarks }) => [
    ...dependencies,
    ...marks.map(({ stream }) => stream),
    ...(reopens === undefined ? [] : [reopens]),
    ...(cascadeMarks === undefined ? [] : [cascadeMarks.stream]),
  ]);
  expect(STREAM_NAMES).toEqual(expect.arrayContaining(named));
});

describe('buildCatalogue', () => {
  test('refuses a stream that is listed twice', () => {
    expect(() => buildCatalogue([assets, columns, assets])).toThrow('assets is in it twice');
  });

  test('refuses a dependency that is not in the catalogue', () => {
    expect(() => buildCatalogue([assets, columnLineage])).toThrow(
      'column_lineage depends on columns, which is not in it',
    );
  });

  test('refuses a child stream whose parent no stream keeps', () => {
    expect(() => buildCatalogue([{ ...tests, dependencies: [] }])).toThrow(
      'tests belongs to rows of assets, which no stream writes',
    );
  });

  test('refuses streams that wait for each other', () => {
    expect(() => buildCatalogue([{ ...assets, dependencies: ['columns'] }, columns, tests])).toThrow(
      'assets, columns, tests wait for each other',
    );
  });

  test('refuses a key or a parent that is not a field of the stream', () => {
    expect(() => buildCatalogue([assets, { ...columns, key: ['column_id'] }])).toThrow(
      'columns has no field column_id',
    );
    const parent = { by: 'owner', table: 'assets', path: ['assets'], parameter: 'asset_ids' };
    expect(() => buildCatalogue([assets, { ...columns, parent }])).toThrow('columns has no field owner');
  });

  const served = (serve: Partial<CollectionEndpoint>) =>
    buildCatalogue([assets, { ...columns, serve: { ...columns.serve, ...serve } }]);

  test('refuses an endpoint that uses a field the stream doesn’t have', () => {
    const message = 'columns is served by owner, which is not one of its fields';
    expect(() => served({ filters: { owners: oneOf('owner', 'Only those of these owners') } })).toThrow(message);
    expect(() => served({ get: { parameter: 'column_id', field: 'owner' } })).toThrow(message);
    expect(() => served({ orders: { owner: ['owner', 'id'] } })).toThrow(message);
    expect(() => served({ disabled: 'row' })).toThrow('columns is served by disabled, which is not one of its fields');
  });

  test('refuses an endpoint filtered by a parent that its rows don’t have', () => {
    const serve = { ...assets.serve, filters: { owners: parentOneOf('owner', 'Only those of these owners') } };
    expect(() => buildCatalogue([{ ...assets, serve }])).toThrow('assets is served by its parent, and has none');
  });

  test('refuses an id in the path of an endpoint without a field for it', () => {
    expect(() => buildCatalogue([{ ...assets, path: ['sources', '{id}', 'assets'] }])).toThrow(
      'assets needs both {id} in its path and an idInPath, or neither',
    );
  });

  test('refuses an endpoint whose rows belong to no asset', () => {
    const { parent: _, ...orphans } = columns;
    expect(() => buildCatalogue([assets, orphans])).toThrow(
      'columns is served, and nothing says which assets a reader has to see to see its rows',
    );
    expect(() => buildCatalogue([assets, { ...orphans, serve: false }])).not.toThrow();
  });
});

describe('the type of a catalogue entry', () => {
  // Marked parents are identified by their ids only, and their rows are requested through one parameter.
  test('refuses a second parent for a child stream', () => {
    const twoParents = { ...columns, parents: [columns.parent, { by: 'name', table: 'assets' }] };
    expectTypeOf(columns).toExtend<CollectionEntry>();
    expectTypeOf(twoParents).not.toExtend<CollectionEntry>();
    expect(() => buildCatalogue([assets, twoParents as never])).toThrow('columns has a second parent');
  });

  test('refuses an ids parameter for rows never looked up by id, and a feed without one (R12)', () => {
    const { idsParameter: _, ...rest } = columns;
    expectTypeOf(testExecutions).toExtend<CollectionEntry>();
    expectTypeOf({ ...testExecutions, idsParameter: 'ids' }).not.toExtend<CollectionEntry>();
    expectTypeOf(rest).not.toExtend<CollectionEntry>();
    expect(() => idsParameterOf(testExecutions)).toThrow('rows of test_executions cannot be requested');
  });

  test('refuses a stream read by marks without a parent table, or with two dependencies', () => {
    const { parentTable: _, ...rest } = biAssets;
    expectTypeOf(biAssets).toExtend<CollectionEntry>();
    expectTypeOf(rest).not.toExtend<CollectionEntry>();
    expect(() => buildCatalogue([assets, rest as never])).toThrow('bi_assets has no parent table');
    expectTypeOf({ ...biAssets, dependencies: ['assets', 'columns'] as const }).not.toExtend<CollectionEntry>();
  });
});
