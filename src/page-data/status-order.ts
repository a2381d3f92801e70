import { FAILING } from '../../schema/data-tests.ts';
import type { LineageNode } from './page-data.ts';
import { type PageScope, selectRows } from './page-scope.ts';
import { selectValues } from './sql.ts';

/** The verdicts, worst first. Any other status is not a verdict. */
const WORST_FIRST = ['ERROR', 'FAIL', 'WARN', 'PASS'];

export function rankOf(status: string | null): number {
  const rank = WORST_FIRST.indexOf(status ?? '');
  return rank === -1 ? WORST_FIRST.length : rank;
}

/** The worse of two statuses. A status that is not a verdict counts only if the other is null. */
export function worseStatus(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return rankOf(other) < rankOf(one) ? other : one;
}

/**
 * The results of the enabled tests of these assets, by what `tested` identifies: SQL of an asset or a column. There are
 * none for a reader without the scope `tests`.
 */
export function verdictsOf(
  scope: PageScope,
  tested: string,
  assets: readonly (string | null)[],
): (of: string) => Pick<LineageNode, 'status' | 'failing_count'> {
  const sql = `select ${tested} as tested, status, count(*) as sub_tests, status in ${FAILING} as fails from test_status
    where env_id = @env and asset_id in ${selectValues('assets')} and status is not null group by tested, status`;
  const rows = scope.seesTests
    ? selectRows<{ tested: string; status: string; sub_tests: number; fails: number }>(scope, sql, { assets })
    : [];
  const results = Map.groupBy(rows, (row) => row.tested);
  return (of) => {
    const own = results.get(of) ?? [];
    return {
      status: own.map(({ status }) => status).reduce(worseStatus, null),
      failing_count: own.reduce((sum, { sub_tests, fails }) => sum + sub_tests * fails, 0),
    };
  };
}
