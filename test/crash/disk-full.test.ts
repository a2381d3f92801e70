import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { each } from './every.ts';
import { digestOf, reading } from './outcome.ts';
import { watching } from './points.ts';
import { expectCarriesOn, SCENES } from './reference.ts';
import { reportOf, SUCCESS } from './run-report.ts';
import type { Scene } from './scenes.ts';
import { trailOf } from './trail.ts';

/** A run whose file cannot grow beyond this many pages. */
async function cramped(scene: Scene, pages: number) {
  const path = scene.fresh();
  const { pass, point } = trailOf(scene.world);
  const tune = (connection: { pragma(source: string): unknown }) => connection.pragma(`max_page_count = ${pages}`);
  const ended = await watching(scene, path, { pass, tune });
  return { path, report: reportOf(ended), point: point(`a file of ${pages} pages`) };
}

function pagesOf(path: string): number {
  if (!existsSync(path)) return 1;
  return reading(path, (rows) => Number(rows('pragma page_count')[0]?.['page_count']));
}

const FULL = {
  line: expect.stringMatching(/ cannot grow, the disk is full: make room and run again; nothing is lost$/),
  code: 1,
};

test.each(each(SCENES, 3))(
  'a disk that fills up at any moment of %s ends the run with one clear line, and the next one completes it',
  async (_, stage) => {
    const { scene, reference } = await stage();
    const roomy = await cramped(scene, 1_000_000);
    expect(roomy.report).toEqual(SUCCESS);
    const most = pagesOf(roomy.path);
    const least = pagesOf(scene.fresh());
    const codes = new Set<number>();
    for (const pages of each(
      Array.from({ length: most - least }, (_, i) => least + i),
      29,
    )) {
      const full = await cramped(scene, pages);
      codes.add(full.report.code);
      // The next run starts with the indexes that did not fit.
      expect(full.report, full.point.label).toEqual(full.report.code === 0 ? SUCCESS : FULL);
      digestOf(full.path);
      await expectCarriesOn(scene, full.path, reference, full.point);
    }
    expect(codes).toContain(1);
  },
);
