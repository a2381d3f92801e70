import { CHARTS, type Chart, type ChartId } from './charts.ts';
import type { ChartRow } from './layout.ts';

/** The position of a chart in a grid of 24 columns. */
export interface GridPlace {
  readonly chart: ChartId;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export type ChartHeights = Readonly<Record<Chart['kind'], number>>;

/** Places rows of charts below each other, from `y` on. All charts of a row are as high as the highest. */
export function placesOf(rows: readonly ChartRow[], heights: ChartHeights, y: number): GridPlace[] {
  let top = y;
  return rows.flatMap((row) => {
    const h = Math.max(...row.map(([chart]) => heights[CHARTS[chart].kind]));
    let x = 0;
    const places = row.map(([chart, width]) => {
      const place = { chart, x, y: top, w: 2 * width, h };
      x += place.w;
      return place;
    });
    top += h;
    return places;
  });
}

/** The row below all places. */
export const below = (places: readonly GridPlace[]): number => Math.max(0, ...places.map(({ y, h }) => y + h));
