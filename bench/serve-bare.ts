import type { MirrorFile } from '../src/destination/sqlite/open.ts';
import type { SqlStatement } from '../src/page-data/sql.ts';
import { rootToken } from '../src/server/access.ts';
import type { PagePosition } from '../src/server/cursor.ts';
import { type ListRequest, listingNamed } from '../src/server/listings.ts';
import type { RequestedPage } from '../src/server/parameters.ts';
import { oneStatement, pageStatement } from '../src/server/statement.ts';
import { quantile } from './figures.ts';
import type { Measured } from './serve-load.ts';
import { columnId } from './serve-mirror.ts';

const PAGE_ROWS = 500;

/** The statements of a query, run in turn on the bare file: only reading rows as objects, and also writing JSON. */
type Bare = (mirror: MirrorFile, seconds: number) => { readonly rows: Measured; readonly text: Measured };

const listing = listingNamed('columns');

const questionOf = (one: string | null): ListRequest => ({
  listing,
  place: { env: 'bench', id: null, one },
  reader: rootToken('bench', 'bench').reader,
  serverTime: new Date().toISOString(),
});

const FIRST_PAGE: RequestedPage = {
  ...questionOf(null),
  limit: PAGE_ROWS,
  position: null,
  order: 'id',
  descending: false,
  filters: {},
  feed: null,
  disabled: false,
  window: null,
};

export const bareStatement = {
  /** The first pages of the columns. */
  pages: (count: number): Bare => {
    const positions = Array.from({ length: count }, (_, page): PagePosition | null =>
      page === 0 ? null : [columnId(page * PAGE_ROWS - 1)],
    );
    return measuring(positions.map((position) => pageStatement({ ...FIRST_PAGE, position }, null)));
  },
  ones: (ids: readonly string[]): Bare => measuring(ids.map((id) => oneStatement(questionOf(id)))),
  feed: (since: string): Bare => measuring([pageStatement({ ...FIRST_PAGE, feed: { of: 'synced', since } }, null)]),
};

function measuring(statements: readonly SqlStatement[]): Bare {
  return ({ connection }, seconds) => {
    const runs = statements.map(({ sql, values }) => ({ statement: connection.prepare(sql), values }));
    const measure = (use: (rows: unknown[]) => unknown): Measured =>
      repeat(seconds, (i) => {
        const run = runs[i % runs.length];
        use(run?.statement.all(run.values) ?? []);
      });
    return { rows: measure(() => {}), text: measure((rows) => JSON.stringify(rows)) };
  };
}

function repeat(seconds: number, once: (i: number) => void): Measured {
  const tookMs: number[] = [];
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (let at = start; at < start + seconds * 1000; ) {
    once(tookMs.length);
    const now = performance.now();
    tookMs.push(now - at);
    at = now;
  }
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: tookMs.length / ((performance.now() - start) / 1000),
    p99Ms: quantile(tookMs, 0.99),
    cpuMs: (user + system) / 1000 / tookMs.length,
  };
}
