import { masterKey } from '../../src/server/access.ts';
import type { Position } from '../../src/server/cursor.ts';
import { countStatements, leadsOf } from '../../src/server/lead.ts';
import type { Listing } from '../../src/server/listings.ts';
import type { Asked } from '../../src/server/parameters.ts';
import type { Question, Statement } from '../../src/server/question.ts';
import { oneStatement, pageStatement, pageValues, stretchStatement } from '../../src/server/statement.ts';
import { sortsOf } from '../../src/server/walk.ts';
import { NOW } from './fixture.ts';

export interface Asking {
  readonly name: string;
  readonly statement: Statement;
  /** The values that are given lead to the rows: by the ids of a filter, or of what the reader may see. */
  readonly isLed: boolean;
  /** A page that begins somewhere in its list: behind another page, or at the bound of a feed. */
  readonly isInside: boolean;
}

const { reader: ALL } = masterKey('all', 'secret');
const READERS: readonly Question['reader'][] = [
  ALL,
  { ...ALL, name: 'few assets', assetIds: ['a1', 'a2'] },
  { ...ALL, name: 'many assets', assetIds: Array.from({ length: 1001 }, (_, i) => `a${i}`) },
  { ...ALL, name: 'paths', paths: ['p'] },
];

/** The statements of every way a listing can be asked: order, direction, feed, page, single filter and reader. */
export function everyAsking(listing: Listing): Asking[] {
  return READERS.flatMap((reader) => {
    const place = { env: 'e', id: listing.parent === undefined ? null : 't1', one: 'x' };
    const question: Question = { listing, place, reader, serverTime: NOW };
    const one = listing.one && {
      name: `get-one for ${reader.name}`,
      statement: oneStatement(question),
      isLed: true,
      isInside: true,
    };
    return [...(one ? [one] : []), ...everyAsked(listing).flatMap((asked) => askingsOf(question, asked))];
  });
}

/** By every way that values lead to the rows, by which it is told whether they are few, and by none. */
function askingsOf(question: Question, asked: Asked): Asking[] {
  const leads = [null, ...(asked.feed === null ? leadsOf(question, asked) : [])];
  return positionsOf(sortsOf(question.listing, asked)).flatMap((position) =>
    leads.flatMap((lead) => {
      const name = `${nameOf(question, asked, position)} by ${lead?.filter ?? (lead && 'what is seen')}`;
      const isInside = position !== null || asked.feed !== null;
      const page = { name, statement: pageStatement(question, asked, position, lead), isLed: lead !== null, isInside };
      if (lead === null)
        return [page, { ...page, name: `end of ${name}`, statement: stretchStatement(question, asked, position) }];
      const counts = countStatements(lead, pageValues(question, asked, position));
      return [page, ...counts.map(({ statement }) => ({ ...page, name: `count of ${name}`, statement }))];
    }),
  );
}

function everyAsked(listing: Listing): Asked[] {
  const { orders, filters, timed, disabled, window } = listing;
  const asked: Asked[] = [];
  const given = [{}, ...Object.keys(filters).map((name) => ({ [name]: ['a1', 'a2'] }))];
  const feeds = timed === undefined ? [null] : ([null, 'synced', 'deleted'] as const);
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
function positionsOf(sorts: readonly string[]): (Position | null)[] {
  const behind = sorts.map(() => 'x');
  return [null, behind, ...(sorts[0] === 'r.synced_at' ? [[null, ...behind.slice(1)]] : [])];
}

function nameOf({ reader }: Question, asked: Asked, position: Position | null): string {
  const { feed, order, descending, disabled, filters } = asked;
  const way = `${feed === null ? order : `${feed.of} feed`} ${descending ? 'desc' : 'asc'}`;
  const more = [...(disabled ? ['disabled'] : []), ...Object.keys(filters)];
  return [way, ...more, `from ${JSON.stringify(position)}`, `for ${reader.name}`].join(' ');
}
