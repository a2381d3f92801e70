import type { SampleScene } from './insert.ts';

interface SampleEdge {
  readonly upstream_column_id: string;
  readonly downstream_column_id: string;
}

/**
 * Changes the edges of columns: the first column loses all of them; each of the others gets a sibling column from the
 * same upstream table instead. Each column's `synced_at` is set to now, because its feed is what makes its edges be
 * read again.
 */
export function rewireColumns(scene: SampleScene, count: number): number {
  const { connection, random, env, now } = scene;
  const edges = connection
    .prepare(`select upstream_column_id, min(downstream_column_id) as downstream_column_id from column_lineage l
      join columns c on c.env_id = l.env_id and c.id = l.downstream_column_id and c.deleted_at is null
      where l.env_id = ? group by upstream_column_id order by 1`)
    .all(env) as SampleEdge[];
  const byDownstream = new Map(edges.map((edge) => [edge.downstream_column_id, edge]));
  const rewired = random.some([...byDownstream.values()], count);
  const cutOff = connection.prepare('delete from column_lineage where env_id = ? and downstream_column_id = ?');
  const touch = connection.prepare('update columns set synced_at = ?, mirrored_at = ? where env_id = ? and id = ?');
  rewired.forEach((edge, i) => {
    if (i === 0) cutOff.run(env, edge.downstream_column_id);
    else swap(scene, edge);
    touch.run(now, now, env, edge.downstream_column_id);
  });
  return rewired.length;
}

function swap({ connection, random, env, now }: SampleScene, edge: SampleEdge): void {
  const values = { env, now, ...edge };
  const siblings = connection
    .prepare(`select c.id from columns c join columns old on old.env_id = c.env_id and old.id = @upstream_column_id
      where c.env_id = @env and c.asset_id = old.asset_id and c.deleted_at is null and c.id not in
        (select upstream_column_id from column_lineage where env_id = @env and downstream_column_id = @downstream_column_id)
      order by c.id`)
    .pluck()
    .all(values) as string[];
  connection
    .prepare(`delete from column_lineage where env_id = @env
      and downstream_column_id = @downstream_column_id and upstream_column_id = @upstream_column_id`)
    .run(values);
  if (siblings.length === 0) return;
  connection
    .prepare(`insert into column_lineage (env_id, upstream_column_id, downstream_column_id, mirrored_at)
      values (@env, @sibling, @downstream_column_id, @now)`)
    .run({ ...values, sibling: random.pick(siblings) });
}
