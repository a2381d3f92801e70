import { type SQL, sql } from 'drizzle-orm';
import type { LineageWalk, ViewDialect } from './view-dialect.ts';
import { failing, fromHealthHistory } from './view-parts.ts';

const typedText = (value: SQL) => sql`CAST(${value} AS TEXT)`;
const typedInteger = (value: SQL) => sql`CAST(${value} AS INTEGER)`;
const typedReal = (value: SQL) => sql`CAST(${value} AS REAL)`;

/** As text: SQLite has no date type, and CAST AS DATE would return the year as a number. */
const day = (time: string) => typedText(sql`substr(${sql.raw(time)}, 1, 10)`);

/** The elements `e` of a JSON array; none if the text is NULL, not an array or not JSON. */
const elements = (list: string) =>
  sql.raw(`json_each(CASE WHEN json_valid(${list}) THEN CASE json_type(${list}) WHEN 'array' THEN ${list} END END) e`);

const label = typedText(
  sql.raw(`NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '')`),
);

/**
 * Everything that an asset reaches over edges, each asset once, as `walk`. Each asset's walk is separate, so a filter
 * on the asset needs only one. It is breadth-first: the depth is a text of spaces. RTRIM treats all such texts as
 * equal, so UNION keeps each asset only where it was first reached; ORDER BY distinguishes them and takes the nearest
 * asset first. So a walk costs no more than its edges, even with diamonds and cycles. It includes deleted assets but
 * does not go beyond them: each is looked up once, not once per edge. CROSS JOIN and unlikely() make SQLite look up
 * edges by their end, whatever its statistics.
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
 * The incidents of the test `t` as a JSON array. Failing runs of a sub-test belong to one incident if they precede the
 * same PASS. The PASS is looked up only for failing runs, in the index by test and time: `+` keeps SQLite from using
 * the key, for which it would sort all runs of the sub-test. min() finds the worst status, because ERROR, FAIL, WARN
 * are in alphabetical order.
 */
const incidents = sql`SELECT json_group_array(json_array(
    (SELECT y.rowid FROM test_executions y
      WHERE y.env_id = t.env_id AND y.test_id = t.test_id AND y.sub_test_unique_id = g.sub_test_unique_id
        AND y.status IN ${failing} AND y.start_time = g.last_start_time
      ORDER BY y.id DESC LIMIT 1),
    next_pass, first_start_time, run_count, worst_status))
  FROM (
    SELECT sub_test_unique_id, next_pass, min(start_time) AS first_start_time, max(start_time) AS last_start_time,
      count(*) AS run_count, min(status) AS worst_status
    FROM (
      SELECT f.sub_test_unique_id, f.start_time, f.status,
        (SELECT p.rowid FROM test_executions p
          WHERE p.env_id = t.env_id AND p.test_id = t.test_id AND p.start_time >= f.start_time AND p.status = 'PASS'
            AND +p.sub_test_unique_id = f.sub_test_unique_id AND (p.start_time > f.start_time OR p.id > f.id)
          ORDER BY p.start_time LIMIT 1) AS next_pass
      FROM test_executions f
      WHERE f.env_id = t.env_id AND f.test_id = t.test_id AND f.status IN ${failing}
    )
    GROUP BY sub_test_unique_id, next_pass
  ) g`;

/** SQLite knows `->>` from 3.38 on only; a view that it cannot parse makes the whole file unreadable. */
const element = (alias: string, index: number) => sql.raw(`json_extract(${alias}.value, '$[${index}]')`);

export const SQLITE_VIEWS: ViewDialect = {
  text: typedText,
  integer: typedInteger,
  real: typedReal,
  time: typedText,
  whole: typedInteger,
  day,
  daysBetween: (from, to) => sql`(julianday(${to}) - julianday(${from}))`,
  rounded: (value) => sql`round(${value}, 3)`,
  share: (part, whole) => sql`1.0 * ${part} / ${whole}`,
  countIf: (condition) => sql`sum(${condition})`,
  enabled: sql.raw('COALESCE(t.disabled, 0) = 0'),
  joinElements: (list) => sql`JOIN ${elements(list)}`,
  label,
  listed: (list) => typedText(sql`(SELECT group_concat(${label}, ', ') FROM ${elements(list)})`),
  listOr: (list, other) => `COALESCE(NULLIF(${list}, '[]'), ${other})`,
  // Ids are JSON values, because SQLite truncates the names of JSON members at U+0000.
  joinReached: (walk) => sql`JOIN json_each((
  ${walking(walk)}
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = ${sql.raw(walk.envId)} AND o.id = ${element('w', 0)}`,
  reachedId: typedText(element('w', 0)),
  reachedDepth: typedInteger(element('w', 1)),
  countReached: (walk, condition = sql``) =>
    typedInteger(sql`(${walking(walk)}
  SELECT count(*) FROM walk LEFT JOIN assets o ON o.env_id = ${sql.raw(walk.envId)} AND o.id = walk.id
  WHERE length(depth) > 0 AND o.deleted_at IS NULL${condition})`),
  joinIncidents: sql`JOIN json_each((${incidents})) i
JOIN test_executions l ON l.rowid = ${element('i', 0)}
LEFT JOIN test_executions p ON p.rowid = ${element('i', 1)}`,
  incident: {
    envId: sql.raw('t.env_id'),
    firstStartTime: element('i', 2),
    runCount: element('i', 3),
    worstStatus: element('i', 4),
  },
  // With a single max(), SQLite takes the plain columns from the row of the maximum.
  healthDaily: sql`SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.dimension,
  ${day('h.bucket_at')} AS day, h.score, ${typedReal(sql`avg(h.score)`)} AS mean_score, h.test_count,
  ${typedInteger(sql`count(*)`)} AS bucket_count, ${typedText(sql`max(h.bucket_at)`)} AS last_bucket_at
${fromHealthHistory}
GROUP BY h.env_id, h.asset_id, h.dimension, day`,
  perRow: { lateral: sql``, condition: () => sql`` },
  named: () => sql``,
  alsoBy: () => sql``,
};
