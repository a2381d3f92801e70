import { expect, test } from 'vitest';
import { decodePage } from '../../src/core/decode/decode.ts';
import { tableNamed } from '../../src/destination/sql/tables.ts';
import { entryNamed } from '../support/catalogue.ts';
import { insert, serve } from './fixture.ts';

const COMMON = { id: 'a', name: 'a', source_type: 'dbt' };
const SENT = {
  assets: { ...COMMON, kind: 'other' },
  tests: { ...COMMON, test_type: 'unique', definition_type: 'generic', severity: 'ERROR', disabled: false },
} as const;

/** Rows that a sync writes if the service sends null or nothing for these fields. */
const { get } = serve(({ db }) => {
  for (const name of ['assets', 'tests'] as const) {
    const nothing = {
      ...SENT[name],
      id: 'null',
      owners: null,
      tags: null,
      ...(name === 'tests' ? { config: null } : {}),
    };
    const { rows } = decodePage(entryNamed(name), [SENT[name], nothing]);
    const stored = rows.map(({ row }) => ({ ...row, env_id: 'e', mirrored_at: '2026-11-01T00:00:00.000000Z' }));
    insert(db, tableNamed(entryNamed(name).table), stored);
  }
});

test.each(['assets/a', 'assets/null', 'tests/a', 'tests/null'])(
  '%s: owners and tags without a value are empty lists, and a config is left out',
  async (path) => {
    const { body } = await get(`e/${path}`);
    expect(body).toMatchObject({ owners: [], tags: [] });
    expect(body).not.toHaveProperty('config');
  },
);
