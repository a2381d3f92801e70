import { beforeEach, expect, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { tests } from '../../schema/data-tests.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from '../../src/destination/sqlite/migrations.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { saveCheckpoint } from '../support/save-checkpoint.ts';
import { claimedMirror } from './setup.ts';

const TABLES = [assets, tests];

let mirror: MirrorFile;
beforeEach(() => {
  mirror = claimedMirror();
});

const indexes = (): string[] =>
  mirror.connection
    .prepare("select sql from sqlite_schema where type = 'index' and tbl_name in ('assets', 'tests') and sql > ''")
    .pluck()
    .all()
    .map((sql) => String(sql).replaceAll('`', '"').replaceAll(', ', ',').toLowerCase())
    .sort();
const drop = () => dropSecondaryIndexes(mirror.connection, TABLES);

test('a first sync drops the secondary indexes and rebuilds them all, identically, at its end', () => {
  const before = indexes();
  expect(before).toHaveLength(8);
  expect(before.filter((sql) => sql.includes(' where '))).toHaveLength(6);
  drop();
  expect(indexes()).toEqual([]);
  buildSecondaryIndexes(mirror.connection, TABLES);
  expect(indexes()).toEqual(before);
});

test('a resumed first sync keeps the indexes of tables that have rows', () => {
  mirror.connection.exec("insert into assets (env_id, id, mirrored_at) values ('e', 'a', '')");
  saveCheckpoint(mirror.db, 'e', 'assets', { ...NO_PROGRESS, finishedCycle: 1 });
  drop();
  expect(indexes()).toHaveLength(4);
});

test('once a scan has ended, the indexes stay, even those of empty tables', () => {
  saveCheckpoint(mirror.db, 'e', 'assets', { ...NO_PROGRESS, scanEndedCycle: 1 });
  drop();
  expect(indexes()).toHaveLength(8);
});
