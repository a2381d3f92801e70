import { decodePart } from '../route.ts';

export type FoldDirection = 'up' | 'down';

/** An open fold and how many of its neighbours it shows. */
export interface OpenFold {
  readonly id: string;
  readonly direction: FoldDirection;
  readonly count: number;
}

export type FoldSide = Pick<OpenFold, 'id' | 'direction'>;

export const foldKey = ({ id, direction }: FoldSide): string => `${direction} ${id}`;

/** How many neighbours an asset shows at first, in each direction. */
const FIRST_COUNT = 12;

/** One level in each direction. */
export const firstFolds = (id: string): OpenFold[] => [
  { id, direction: 'up', count: FIRST_COUNT },
  { id, direction: 'down', count: FIRST_COUNT },
];

/** Serialized for the address: `up12~orders,down3~a%2Cb`. */
export const formatFolds = (folds: readonly OpenFold[]): string =>
  folds.map(({ id, direction, count }) => `${direction}${count}~${encodeURIComponent(id)}`).join(',');

/** Malformed parts are skipped. */
export function parseFolds(text: string): OpenFold[] {
  return text.split(',').flatMap((part) => {
    const [, direction, count, id = ''] = /^(up|down)(\d{1,3})~(.+)$/s.exec(part) ?? [];
    const decoded = decodePart(id);
    if (direction === undefined || decoded === null) return [];
    return [{ id: decoded, direction: direction as FoldDirection, count: Number(count) }];
  });
}
