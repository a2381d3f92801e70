import { type EnvironmentModel, putAsset, putColumn, putColumnEdges, remove } from '../model/environment.ts';
import type { Scene } from '../support/scene.ts';

export const COLUMN_COUNT = 110;
export const NUMBERS = Array.from({ length: COLUMN_COUNT }, (_, n) => String(n).padStart(3, '0'));
export const firstNumbers = (count: number): string[] => NUMBERS.slice(0, count);

/** Columns of one asset, each with an edge. */
export function furnishColumns(place: EnvironmentModel): void {
  putAsset(place, 'hub', { kind: 'etl' });
  for (const n of NUMBERS) {
    putColumn(place, `c${n}`, 'hub');
    putColumnEdges(place, `c${n}`, ['far']);
  }
}

export function loseColumns({ env }: Scene, count: number): void {
  for (const n of firstNumbers(count)) remove(env, 'columns', `c${n}`, 'lost');
}
