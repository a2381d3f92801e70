import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { each } from './every.ts';
import { type Point, watching } from './points.ts';
import { expectCarriesOn, SCENES } from './reference.ts';
import { reportOf, SUCCESS } from './run-report.ts';
import type { Scene } from './scenes.ts';
import { trailOf } from './trail.ts';

/** SQLite's error, and the message for the user. */
const FAULTS = [
  ['SQLITE_IOERR_WRITE', 'disk I/O error', /could not be read or written: check the disk and run again$/, 1],
  [
    'SQLITE_FULL',
    'database or disk is full',
    /cannot grow, the disk is full: make room and run again; nothing is lost$/,
    1,
  ],
  [
    'SQLITE_READONLY',
    'attempt to write a readonly database',
    /cannot be written: check the permissions of the file and of its folder$/,
    2,
  ],
] as const;

/** The lock has its own file, which its error names. */
const NO_LOCK = [null, null, /\.lock cannot be locked: check that its folder exists and may be written$/, 2] as const;

type Fault = (typeof FAULTS)[number];

/** The labels of a scene's statements, in order. */
async function statementsOf(scene: Scene): Promise<string[]> {
  const labels: string[] = [];
  await watching(scene, scene.fresh(), { pass: (label) => void labels.push(label) });
  return labels;
}

/** Makes the run fail at one point, or from there on. */
async function failAt(scene: Scene, at: number, [code, message]: Fault, lasting: boolean) {
  const path = scene.fresh();
  const trail = trailOf(scene.world);
  let passed = 0;
  let failed: Point | null = null;
  const ended = await watching(scene, path, {
    pass(label) {
      const number = passed++;
      trail.pass(label);
      if (number < at || (number > at && !lasting) || !isStatement(label)) return;
      failed ??= trail.point(label);
      throw new Database.SqliteError(message, code);
    },
  });
  return { path, ended, failed: failed as Point | null };
}

function isStatement(label: string): boolean {
  return !/^\w+ (the request|close)/.test(label);
}

/**
 * From here on the run has ended. The cleanup may fail silently, because the next run starts with it.
 */
function endOf(labels: readonly string[]): number {
  const recorded = labels.findLastIndex((label) => label.startsWith('after update "sync_runs"'));
  const tidied = labels.findIndex((label, at) => at > recorded && label.startsWith('before create index'));
  // In between, data for the next forecast is saved and old runs are deleted.
  return labels.lastIndexOf('after COMMIT', tidied) + 1;
}

test.each(SCENES)(
  'a statement that fails, once or for good, ends %s with one clear line, and the next run completes it',
  async (_, stage) => {
    const { scene, reference } = await stage();
    const labels = await statementsOf(scene);
    const statements = labels.flatMap((label, at) => (isStatement(label) ? [at] : []));
    const cases = statements.flatMap((at) => [false, true].map((lasting) => ({ at, lasting })));
    for (const [i, { at, lasting }] of each(cases, 499).entries()) {
      const fault = FAULTS[i % FAULTS.length] as Fault;
      const { path, ended, failed } = await failAt(scene, at, fault, lasting);
      const [, , line, code] = labels[at]?.endsWith('begin exclusive') ? NO_LOCK : fault;
      const expected = at < endOf(labels) ? { line: expect.stringMatching(line), code } : SUCCESS;
      expect(reportOf(ended), labels[at]).toEqual(expected);
      await expectCarriesOn(scene, path, reference, failed as Point);
    }
  },
);
