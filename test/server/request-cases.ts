import { rootToken } from '../../src/server/access.ts';
import { sortsOf } from '../../src/server/access-path.ts';
import type { PagePosition } from '../../src/server/cursor.ts';
import { countStatements, indexPathsOf } from '../../src/server/index-path.ts';
import type { ListRequest, SqlStatement } from '../../src/server/list-request.ts';
import type { CollectionListing } from '../../src/server/listings.ts';
import type { ListParameters } from '../../src/server/parameters.ts';
import { oneStatement, pageStatement, pageValues, scanWindowStatement } from '../../src/server/statement.ts';
import { NOW } from './fixture.ts';

export interface Asking {
  readonly name: string;
  readonly statement: SqlStatement;
  /** The values that are given lead to the rows: by the ids of a filter, or of what the reader may see. */
  readonly isLed: boolean;
  /** A page that begins somewhere in its list: behind another page, or at the bound of a feed. */
  readonly isInside: boolean;
}

const { reader: ALL } = rootToken('all', 'secret');
const READERS: readonly ListRequest['reader'][] = [
  ALL,
  { ...ALL, name: 'few assets', assetIds: ['a1', 'a2'] },
  { ...ALL, name: 'many assets', assetIds: Array.from({ length: 1001 }, (_, i) => `a${i}`) },
  { ...ALL, name: 'paths', paths: ['p'] },
];

/** The statements of every way a listing can be asked: order, direction, feed, page, single filter and reader. */
export function everyAsking(collectionListing: CollectionListing): Asking[] {
  return READERS.flatMap((reader) => {
    const place = { env: 'e', id: collectionListing.parent === undefined ? null : 't1', one: 'x' };
    const listRequest: ListRequest = { listing: collectionListing, place, reader, serverTime: NOW };
    const one = collectionListing.one && {
      name: `get-one for ${reader.name}`,
      statement: oneStatement(listRequest),
      isLed: true,
      isInside: true,
    };
    return [...(one ? [one] : []), ...everyAsked(collectionListing).flatMap((asked) => askingsOf(listRequest, asked))];
  });
}

/** By every way that values lead to the rows, by which it is told whether they are few, and by none. */
function askingsOf(listRequest: ListRequest, listParameters: ListParameters): Asking[] {
  const leads = [null, ...(listParameters.feed === null ? indexPathsOf(listRequest, listParameters) : [])];
  return positionsOf(sortsOf(listRequest.listing, listParameters)).flatMap((position) =>
    leads.flatMap((lead) => {
      const name = `${nameOf(listRequest, listParameters, position)} by ${lead?.filter ?? (lead && 'what is seen')}`;
      const isInside = position !== null || listParameters.feed !== null;
      const page = {
        name,
        statement: pageStatement(listRequest, listParameters, position, lead),
        isLed: lead !== null,
        isInside,
      };
      if (lead === null)
        return [
          page,
          { ...page, name: `end of ${name}`, statement: scanWindowStatement(listRequest, listParameters, position) },
        ];
      const counts = countStatements(lead, pageValues(listRequest, listParameters, position));
      return [page, ...counts.map(({ statement }) => ({ ...page, name: `count of ${name}`, statement }))];
    }),
  );
}

function everyAsked(collectionListing: CollectionListing): ListParameters[] {
  const { orders, filters, feedClock, disabled, window } = collectionListing;
  const asked: ListParameters[] = [];
  const given = [{}, ...Object.keys(filters).map((name) => ({ [name]: ['a1', 'a2'] }))];
  const feeds = feedClock === undefined ? [null] : ([null, 'synced', 'deleted'] as const);
  for (const feed of feeds)
    for (const order of feed === null ? Object.keys(orders) : ['id'])
      for (const descending of [false, true])
        for (const hidden of feed === null && disabled !== undefined ? [false, true] : [false])
          for (const filter of given)
            asked.push({
              limit: 2000,
              cursor: undefined,
              order,
              descending,
              filters: filter,
              feed: feed && { of: feed, since: NOW },
              disabled: hidden,
              window: window === undefined ? null : { from: NOW, to: null },
            });
  return asked;
}

/** The first page, one behind a row, and one behind a row that has no value to be sorted by. */
function positionsOf(sorts: readonly string[]): (PagePosition | null)[] {
  const behind = sorts.map(() => 'x');
  return [null, behind, ...(sorts[0] === 'r.synced_at' ? [[null, ...behind.slice(1)]] : [])];
}

function nameOf({ reader }: ListRequest, listParameters: ListParameters, position: PagePosition | null): string {
  const { feed, order, descending, disabled, filters } = listParameters;
  const way = `${feed === null ? order : `${feed.of} feed`} ${descending ? 'desc' : 'asc'}`;
  const more = [...(disabled ? ['disabled'] : []), ...Object.keys(filters)];
  return [way, ...more, `from ${JSON.stringify(position)}`, `for ${reader.name}`].join(' ');
}
