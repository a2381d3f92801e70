import { liveState } from '../live-data.ts';
import type { PageQuery } from '../page-source.ts';
import { useLiveQueries } from '../parts/live-view.ts';

/** The upstream and downstream columns of one column, one edge away. */
export type ColumnLineage = NonNullable<ReturnType<typeof useColumnLineage>>;

/** Null until a column is selected and its lineage is loaded. */
export function useColumnLineage(env: string, id: string | null, asset: string | null) {
  const queryOf = <N extends 'node' | 'neighbours'>(name: N, more = {}): PageQuery<N> => ({
    name,
    env,
    parameters: { id: id ?? '', of: 'columns', ...more },
  });
  const limit = '100';
  const column = queryOf('node');
  const upstream = queryOf('neighbours', { direction: 'upstream', limit });
  const downstream = queryOf('neighbours', { direction: 'downstream', limit });
  useLiveQueries(id === null ? [] : [column, upstream, downstream], { once: true });
  if (id === null || asset === null) return null;
  const { data } = liveState(column);
  const [above, below] = [liveState(upstream).data, liveState(downstream).data];
  if (data === null || above === null || below === null) return null;
  /** Whether more exist than are shown. */
  const cut = above.total > above.rows.length || below.total > below.rows.length;
  return { id, asset, name: data.name, upstream: above.rows, downstream: below.rows, cut };
}
