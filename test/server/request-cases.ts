import type { SqlStatement } from '../../src/page-data/sql.ts';
import { rootToken } from '../../src/server/access.ts';
import { sortsOf } from '../../src/server/access-path.ts';
import type { PagePosition } from '../../src/server/cursor.ts';
import { indexPathsOf } from '../../src/server/index-path.ts';
import type { CollectionListing, ListRequest } from '../../src/server/listings.ts';
import type { RequestedPage } from '../../src/server/parameters.ts';
import { oneStatement, pageStatement, pageValues, scanWindowStatement } from '../../src/server/statement.ts';
import { NOW } from './fixture.ts';

export interface RequestCase {
  readonly name: string;
  readonly statement: SqlStatement;
  /** The index path starts from the values of a filter, or from the assets that the reader may see. */
  readonly usesIndexPath: boolean;
  /** A page that starts in the middle of its list: after another page, or at the bound of a feed. */
  readonly isContinued: boolean;
}

const { reader: ALL } = rootToken('all', 'secret');
const READERS: readonly ListRequest['reader'][] = [
  ALL,
  { ...ALL, name: 'few assets', assetIds: ['a1', 'a2'] },
  { ...ALL, name: 'many assets', assetIds: Array.from({ length: 1001 }, (_, i) => `a${i}`) },
  { ...ALL, name: 'paths', paths: ['p'] },
];

/** The statements for every kind of request to a listing: order, direction, feed, page, single filter and reader. */
export function requestCases(listing: CollectionListing): RequestCase[] {
  return READERS.flatMap((reader) => {
    const place = { env: 'e', id: listing.parent === undefined ? null : 't1', one: 'x' };
    const request: ListRequest = { listing, place, reader, serverTime: NOW };
    const one = listing.one && {
      name: `get-one for ${reader.name}`,
      statement: oneStatement(request),
      usesIndexPath: true,
      isContinued: true,
    };
    return [
      ...(one ? [one] : []),
      ...parameterCombinations(listing).flatMap((parameters) => casesOf({ ...request, ...parameters, position: null })),
    ];
  });
}

/** With each index path and its counting statements, and without one. */
function casesOf(firstPage: RequestedPage): RequestCase[] {
  const leads = [null, ...(firstPage.feed === null ? indexPathsOf(firstPage) : [])];
  return positionsOf(sortsOf(firstPage)).flatMap((position) =>
    leads.flatMap((lead) => {
      const page = { ...firstPage, position };
      const name = `${nameOf(page)} by ${lead?.filter ?? (lead && 'what is seen')}`;
      const common = { usesIndexPath: lead !== null, isContinued: position !== null || page.feed !== null };
      const whole = { ...common, name, statement: pageStatement(page, lead) };
      if (lead === null) return [whole, { ...common, name: `end of ${name}`, statement: scanWindowStatement(page) }];
      const values = pageValues(page);
      const counts = lead.steps.map(({ count: sql }) => ({
        ...common,
        name: `count of ${name}`,
        statement: { sql, values },
      }));
      return [whole, ...counts];
    }),
  );
}

type PageParameters = Omit<RequestedPage, keyof ListRequest | 'position'>;

function parameterCombinations(listing: CollectionListing): PageParameters[] {
  const { orders, filters, feedClock, disabled, window } = listing;
  const parameters: PageParameters[] = [];
  const given = [{}, ...Object.keys(filters).map((name) => ({ [name]: ['a1', 'a2'] }))];
  const feeds = feedClock === undefined ? [null] : ([null, 'synced', 'deleted'] as const);
  for (const feed of feeds)
    for (const order of feed === null ? Object.keys(orders) : ['id'])
      for (const descending of [false, true])
        for (const hidden of feed === null && disabled !== undefined ? [false, true] : [false])
          for (const filter of given)
            parameters.push({
              limit: 2000,
              order,
              descending,
              filters: filter,
              feed: feed && { of: feed, since: NOW },
              disabled: hidden,
              window: window === undefined ? null : { from: NOW, to: null },
            });
  return parameters;
}

/** The first page, one after a row, and one after a row whose sort value is NULL. */
function positionsOf(sorts: readonly string[]): (PagePosition | null)[] {
  const behind = sorts.map(() => 'x');
  return [null, behind, ...(sorts[0] === 'r.synced_at' ? [[null, ...behind.slice(1)]] : [])];
}

function nameOf({ reader, feed, order, descending, disabled, filters, position }: RequestedPage): string {
  const way = `${feed === null ? order : `${feed.of} feed`} ${descending ? 'desc' : 'asc'}`;
  const more = [...(disabled ? ['disabled'] : []), ...Object.keys(filters)];
  return [way, ...more, `from ${JSON.stringify(position)}`, `for ${reader.name}`].join(' ');
}
