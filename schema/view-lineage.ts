import { sql } from 'drizzle-orm';
import { typedInteger, typedText } from './view-parts.ts';

/** The asset at which a walk begins, by its columns, and the ends of an edge between which it goes. */
interface LineageWalk {
  readonly envId: string;
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

/**
 * All that an asset reaches by edges, each asset once, as `walk`. The walk begins at each asset separately, so that a filter on the
 * asset makes one walk. It goes breadth first: the depth is a text of spaces. RTRIM takes all such texts for equal, so that UNION
 * keeps an asset only once, as it was first met; ORDER BY tells them apart and takes the nearest asset first. So a walk costs no more
 * than its edges, even with diamonds and cycles. It comes to deleted assets as well, but not beyond them: each is looked up once,
 * and not by every edge. CROSS JOIN and unlikely() make SQLite look up edges by their end, whatever statistics it has.
 */
const walking = ({ envId, id, from, to }: LineageWalk) =>
  sql.raw(`WITH RECURSIVE walk(id, depth) AS (
    SELECT ${id}, '' COLLATE RTRIM
    UNION
    SELECT e.${to}, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = ${envId} AND unlikely(e.${from} = walk.id)
    WHERE NOT EXISTS (SELECT 1 FROM assets n WHERE n.env_id = ${envId} AND n.id = walk.id AND n.deleted_at IS NOT NULL)
    ORDER BY 2 COLLATE BINARY
  )`);

/**
 * Joins what an asset reaches as `w`, and what the mirror holds of it as `o`. A view leaves out the rows whose `o` is deleted. Ids are
 * JSON values, because SQLite cuts names of JSON members at U+0000.
 */
export const joinReached = (walk: LineageWalk) => sql`JOIN json_each((
  ${walking(walk)}
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = ${sql.raw(walk.envId)} AND o.id = w.value ->> 0`;

export const reachedId = typedText(sql`w.value ->> 0`);
/** The least number of edges to it. */
export const reachedDepth = typedInteger(sql`w.value ->> 1`);

/** How many assets `o` an asset reaches that are not deleted; `condition` says which ones count. */
export const countReached = (walk: LineageWalk, condition = sql``) =>
  typedInteger(sql`(${walking(walk)}
  SELECT count(*) FROM walk LEFT JOIN assets o ON o.env_id = ${sql.raw(walk.envId)} AND o.id = walk.id
  WHERE length(depth) > 0 AND o.deleted_at IS NULL${condition})`);
