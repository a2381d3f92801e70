import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { each } from './every.ts';
import { type Watch, watching } from './points.ts';
import { expectCarriesOn, SCENES } from './reference.ts';
import { reportOf, SUCCESS } from './run-report.ts';
import type { Scene } from './scenes.ts';
import { trailOf } from './trail.ts';

/** A reader that never ends its transaction. */
function readForEver(path: string): Database.Database {
  const reader = new Database(path, { readonly: true });
  onTestFinished(() => void reader.close());
  reader.exec('begin');
  rowsSeen(reader);
  return reader;
}

function rowsSeen(reader: Database.Database): unknown[] {
  const tables = reader.prepare("select name from sqlite_schema where type = 'table'").pluck().all() as string[];
  return tables.map((table) => [table, reader.prepare(`select * from ${table}`).all()]);
}

test.each(each(SCENES, 3))(
  'a reader in a long transaction blocks no statement of %s or of the next run',
  async (_, stage) => {
    const { scene, reference } = await stage();
    const path = scene.fresh();
    const { pass, point } = trailOf(scene.world);
    const readers: { reader: Database.Database; saw: unknown }[] = [];
    const look = (): void => {
      const reader = readForEver(path);
      readers.push({ reader, saw: rowsSeen(reader) });
    };
    let statements = 0;
    const ended = await watching(scene, path, {
      tune(connection) {
        connection.pragma('wal_autocheckpoint = 1');
        look();
      },
      pass(label) {
        pass(label);
        if (++statements % 200 === 0 && readers.length > 0) look();
      },
    });
    expect(reportOf(ended)).toEqual(SUCCESS);
    await expectCarriesOn(scene, path, reference, point('a reader'));
    for (const { reader, saw } of readers) expect(rowsSeen(reader)).toEqual(saw);
    expect(readers.length).toBeGreaterThan(3);
  },
);

/**
 * Another program starts to write between two transactions of the run, and takes longer than the run waits.
 */
async function meetWriter(scene: Scene, at: number) {
  const path = scene.fresh();
  const { pass, point } = trailOf(scene.world);
  const other = new Database(path, { timeout: 0 });
  let passed = 0;
  const watch: Required<Watch> = {
    tune: (connection) => void connection.pragma('busy_timeout = 0'),
    pass(label) {
      pass(label);
      if (passed++ === at) other.exec('begin immediate');
    },
  };
  const ended = await watching(scene, path, watch);
  other.close();
  return { path, report: reportOf(ended), point: point(`a writer at point ${at}`) };
}

/** The points of a scene that lie between its transactions. */
async function freePoints(scene: Scene): Promise<number[]> {
  const free: number[] = [];
  let [passed, writing] = [0, false];
  const pass = (label: string): void => {
    if (/^after BEGIN/.test(label)) writing = true;
    if (/^after (COMMIT|ROLLBACK)/.test(label)) writing = false;
    if (!writing) free.push(passed);
    passed += 1;
  };
  await watching(scene, scene.fresh(), { pass });
  return free;
}

const LOCKED = { line: expect.stringMatching(/ is locked by another program: close it and run again$/), code: 1 };

test.each(each(SCENES, 3))(
  'another program’s endless write transaction ends %s with one clear line, and a later run completes it',
  async (_, stage) => {
    const { scene, reference } = await stage();
    let refused = 0;
    for (const at of each(await freePoints(scene), 197)) {
      const { path, report, point } = await meetWriter(scene, at);
      // The next run does the cleanup of a run that has ended.
      expect(report, point.label).toEqual(report.code === 0 ? SUCCESS : LOCKED);
      if (report.code !== 0) refused += 1;
      await expectCarriesOn(scene, path, reference, point);
    }
    expect(refused).toBeGreaterThan(1);
  },
);
