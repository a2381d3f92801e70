import { describe, expect, test } from 'vitest';
import { add, gone, pluck, run, select, useMirror } from './views-setup.ts';

useMirror();

describe('the lineage views', () => {
  /** Edges written `up>down`. */
  const addEdges = (...edges: string[]) =>
    add(
      'asset_lineage',
      ...edges.map((edge) => {
        const [upstream_asset_id, downstream_asset_id] = edge.split('>');
        return { upstream_asset_id, downstream_asset_id };
      }),
    );
  const upstream = (id: string) =>
    pluck(
      `SELECT upstream_asset_id || ' ' || depth FROM lineage_upstream WHERE env_id = 'e' AND asset_id = ?
      ORDER BY depth, 1`,
      id,
    );
  const downstream = (id: string) =>
    pluck(
      `SELECT downstream_asset_id || ' ' || depth FROM lineage_downstream WHERE env_id = 'e' AND asset_id = ?
      ORDER BY depth, 1`,
      id,
    );

  test('every ancestor and descendant appears once, at its least depth', () => {
    addEdges('a>b', 'b>c', 'c>d', 'a>c', 'x>d');
    expect(upstream('d')).toEqual(['c 1', 'x 1', 'a 2', 'b 2']);
    expect(downstream('a')).toEqual(['b 1', 'c 1', 'd 2']);
    expect(select('SELECT * FROM lineage_upstream')).toHaveLength(7);
    expect(select('SELECT * FROM lineage_downstream')).toHaveLength(7);
  });

  test('the depth is the least one, whichever path is followed first', () => {
    addEdges('p>end', 'q>end', 'near_p>p', 'near_q>q', 'far_p>near_p', 'far_q>near_q', 'far_p>q', 'far_q>p');
    expect(upstream('end')).toEqual(['p 1', 'q 1', 'far_p 2', 'far_q 2', 'near_p 2', 'near_q 2']);
    expect(downstream('far_p')).toEqual(['near_p 1', 'q 1', 'end 2', 'p 2']);
  });

  test('cycles terminate, and no asset is its own ancestor', () => {
    addEdges('a>b', 'b>c', 'c>a', 'a>a', 'z>a');
    expect(upstream('a')).toEqual(['c 1', 'z 1', 'b 2']);
    expect(downstream('a')).toEqual(['b 1', 'c 2']);
  });

  test('lineage stays within an environment', () => {
    addEdges('a>b');
    add('asset_lineage', { env_id: 'other', upstream_asset_id: 'z', downstream_asset_id: 'a' });
    expect(upstream('b')).toEqual(['a 1']);
  });

  test('lineage leads neither to a deleted asset nor through one, and names the others', () => {
    add(
      'assets',
      { id: 'a', name: 'raw', kind: 'table' },
      { id: 'b', ...gone },
      { id: 'c', name: 'board', kind: 'new' },
    );
    addEdges('a>b', 'b>c', 'a>c', 'unseen>c');
    expect(select('SELECT upstream_asset_id id, upstream_name name, upstream_kind kind FROM lineage_upstream')).toEqual(
      [
        { id: 'a', name: 'raw', kind: 'table' },
        { id: 'unseen', name: null, kind: null },
      ],
    );
    expect(pluck('SELECT downstream_kind FROM lineage_downstream')).toEqual(['other', 'other']);
  });

  test('ids may contain any characters', () => {
    const odd = ['a"b', "it's", 'trail ', 'trail', '✓/,"', '\\', '7', 'a\u0000b', 'a', 'a\u0000', '[1]'];
    addEdges(...odd.map((id) => `${id}>end`));
    expect(upstream('end').sort()).toEqual(odd.map((id) => `${id} 1`).sort());
    expect(downstream('trail ')).toEqual(['end 1']);
  });

  test('a graph with many diamonds and cycles is walked once per edge', () => {
    const steps = Array.from({ length: 360 }, (_, i) => i);
    addEdges(...steps.flatMap((i) => [`${i}>${i + 1}`, `${i}>${i + 2}`]), '361>0');
    expect(upstream('360')).toHaveLength(361);
    expect(pluck(`SELECT depth FROM lineage_upstream WHERE asset_id = '360' AND upstream_asset_id = '0'`)).toEqual([
      180,
    ]);
  });

  test.each(['none', 'those of a single edge'])(
    'the lineage of one asset looks its edges up by index, with statistics: %s',
    (has) => {
      addEdges('a>b');
      if (has !== 'none') run('ANALYZE');
      for (const view of ['lineage_upstream', 'lineage_downstream']) {
        const plan = select(`EXPLAIN QUERY PLAN SELECT * FROM ${view} WHERE env_id = ? AND asset_id = ?`, 'e', 'a');
        const looks = plan.map((it) => String(it.detail)).filter((it) => / (e|asset_lineage) /.test(it));
        expect(looks, view).toHaveLength(2);
        for (const look of looks) expect(look).toMatch(/SEARCH .*\(env_id=\? AND (up|down)stream_asset_id=\?\)/);
      }
    },
  );
});
