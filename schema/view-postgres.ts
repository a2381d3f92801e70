import { type SQL, sql } from 'drizzle-orm';
import type { LineageWalk, ViewDialect } from './view-dialect.ts';
import { failing, fromHealthHistory } from './view-parts.ts';

const typedText = (value: SQL) => sql`CAST(${value} AS text) COLLATE "C"`;
const typedInteger = (value: SQL) => sql`CAST(${value} AS bigint)`;
const typedReal = (value: SQL) => sql`CAST(${value} AS double precision)`;

/** Milliseconds since the year -4713 as a double of days, like SQLite: differences are the same double in both. */
const julianDay = (time: SQL) =>
  sql`(CAST(floor(extract(epoch FROM ${time}) * 1000 + 0.5) + 210866760000000 AS double precision) / 86400000)`;

/** A JSON array; an empty one for anything else. */
const arrayOf = (list: string) => sql.raw(`CASE WHEN json_typeof(${list}) = 'array' THEN ${list} ELSE '[]'::json END`);

/** A double as SQLite prints it; `n` is the shortest decimal number that identifies it. */
const SHOWN_REAL = `(SELECT CASE WHEN r.n = 0 THEN '0.0'
        WHEN abs(r.n) < 0.0001 OR abs(r.n) >= 1e17
        THEN replace(regexp_replace(btrim(to_char(r.n, '9.9999999999999999EEEE')), '0+e', 'e'), '.e', '.0e')
        WHEN strpos(r.n::text, '.') = 0 THEN r.n::text || '.0' ELSE r.n::text END
      FROM (SELECT CAST(CAST(x.token AS double precision) AS text)::numeric AS n) r)`;

/** A JSON number as SQLite prints it. It never fails, however many digits the number has. */
const SHOWN_NUMBER = `CASE WHEN x.token ~ '^-?[0-9]{1,18}$' THEN x.token::bigint::text
      WHEN length(x.token) > 10000 THEN x.token
      WHEN x.token ~ '[eE][-]0*[0-9]{4}' THEN '0.0'
      WHEN x.token ~ '[eE][+]?0*[1-9][0-9]{3}' OR abs(x.token::numeric) > 1.7976931348623157e308
      THEN CASE WHEN x.token LIKE '-%' THEN '-Inf' ELSE 'Inf' END
      WHEN abs(x.token::numeric) < 3e-324 THEN '0.0'
      WHEN x.token ~ '^-?[0-9]{19}$' AND abs(x.token::numeric) <= 9223372036854775807 THEN x.token
      ELSE ${SHOWN_REAL} END`;

/** The first of these members that has a value. */
const member = sql.join(
  ['name', 'email', 'id'].map((name) =>
    sql.raw(`WHEN COALESCE(y.value ->> '${name}', '') <> '' THEN y.value -> '${name}' `),
  ),
);

/** The elements `e` of a JSON array, with number and label. Within an object, true becomes 1, as in SQLite. */
const elements = (list: string) => sql`LATERAL (
    SELECT x.number, NULLIF(CASE json_typeof(x.shown)
      WHEN 'string' THEN x.shown #>> '{}'
      WHEN 'number' THEN ${sql.raw(SHOWN_NUMBER)}
      WHEN 'boolean' THEN CASE WHEN NOT x.is_member THEN x.token WHEN x.token = 'true' THEN '1' ELSE '0' END
      WHEN 'null' THEN NULL
      ELSE x.token END, '') COLLATE "C" AS label
    FROM (
      SELECT z.number, COALESCE(z.member, z.value) AS shown, COALESCE(z.member, z.value)::text AS token,
        z.member IS NOT NULL AS is_member
      FROM (
        SELECT y.number, y.value, CASE WHEN json_typeof(y.value) = 'object' THEN CASE ${member}END END AS member
        FROM json_array_elements(${arrayOf(list)}) WITH ORDINALITY AS y(value, number)
      ) z
    ) x
  ) e`;

/**
 * Everything that an asset reaches over edges, as `walk`: one row per depth, with the assets first reached there. So
 * each asset occurs once, and a walk ends in a cycle. It includes deleted assets, but does not go beyond them.
 */
const walking = ({ envId, id, from, to }: LineageWalk) =>
  sql.raw(`WITH RECURSIVE walk(depth, ids, seen) AS (
    SELECT 0, ARRAY[${id}], ARRAY[${id}]
    UNION ALL
    SELECT walk.depth + 1, met.ids, walk.seen || met.ids
    FROM walk CROSS JOIN LATERAL (
      SELECT array_agg(id) AS ids FROM (
        SELECT e.${to} AS id FROM asset_lineage e
        WHERE e.env_id = ${envId} AND e.${from} = ANY(walk.ids) AND NOT EXISTS (
          SELECT 1 FROM assets n WHERE n.env_id = ${envId} AND n.id = e.${from} AND n.deleted_at IS NOT NULL)
        EXCEPT SELECT unnest(walk.seen)
      ) others
    ) met
    WHERE met.ids IS NOT NULL
  )`);

/** OFFSET makes PostgreSQL look up assets by key. It overestimates the length of a walk and would read them all. */
const joinFound = ({ envId }: LineageWalk, id: string) =>
  sql.raw(`LEFT JOIN LATERAL (SELECT * FROM assets WHERE env_id = ${envId} AND id = ${id} OFFSET 0) o ON true`);

const reached = sql.raw('FROM walk CROSS JOIN LATERAL unnest(walk.ids) AS r(id)');

/** Failing runs before the same PASS are one incident. min() is the worst status: ERROR, FAIL, WARN are in order. */
const incidents = sql`SELECT g.sub_test_unique_id, g.pass_id, min(g.start_time) AS first_start_time, count(*) AS run_count,
    min(g.status) AS worst_status, (array_agg(g.id ORDER BY g.start_time DESC, g.id DESC))[1] AS last_id
  FROM (
    SELECT f.sub_test_unique_id, f.id, f.start_time, f.status, (
      SELECT n.id FROM test_executions n
      WHERE n.env_id = t.env_id AND n.test_id = t.test_id AND n.start_time >= f.start_time AND n.status = 'PASS'
        AND n.sub_test_unique_id = f.sub_test_unique_id AND (n.start_time > f.start_time OR n.id > f.id)
      ORDER BY n.start_time, n.id LIMIT 1) AS pass_id
    FROM test_executions f
    WHERE f.env_id = t.env_id AND f.test_id = t.test_id AND f.status IN ${failing}
  ) g
  GROUP BY g.sub_test_unique_id, g.pass_id`;

export const POSTGRES_VIEWS: ViewDialect = {
  text: typedText,
  integer: typedInteger,
  real: typedReal,
  time: (value) => value,
  whole: (value) => typedInteger(sql`trunc(${value})`),
  day: (time) => sql`CAST((${sql.raw(time)} AT TIME ZONE 'UTC') AS date)`,
  daysBetween: (from, to) => sql`(${julianDay(to)} - ${julianDay(from)})`,
  rounded: (value) => sql`round(CAST(${value} AS numeric), 3)`,
  share: (part, whole) => sql`${typedReal(part)} / ${whole}`,
  countIf: (condition) => sql`count(*) FILTER (WHERE ${condition})`,
  enabled: sql.raw('NOT COALESCE(t.disabled, false)'),
  joinElements: (list) => sql`CROSS JOIN ${elements(list)}`,
  label: sql.raw('e.label'),
  listed: (list) => typedText(sql`(SELECT string_agg(e.label, ', ' ORDER BY e.number) FROM ${elements(list)})`),
  listOr: (list, other) => `(CASE WHEN COALESCE(${list}::text, '[]') = '[]' THEN ${other} ELSE ${list} END)`,
  joinReached: (walk) => sql`CROSS JOIN LATERAL (
  ${walking(walk)}
  SELECT r.id, walk.depth ${reached} WHERE walk.depth > 0
) w
${joinFound(walk, 'w.id')}`,
  reachedId: typedText(sql`w.id`),
  reachedDepth: typedInteger(sql`w.depth`),
  countReached: (walk, condition = sql``) =>
    typedInteger(sql`(${walking(walk)}
  SELECT count(*) ${reached} ${joinFound(walk, 'r.id')}
  WHERE walk.depth > 0 AND o.deleted_at IS NULL${condition})`),
  joinIncidents: sql`CROSS JOIN LATERAL (${incidents}) i
JOIN test_executions l ON l.env_id = t.env_id AND l.sub_test_unique_id = i.sub_test_unique_id AND l.id = i.last_id
LEFT JOIN test_executions p ON p.env_id = t.env_id AND p.sub_test_unique_id = i.sub_test_unique_id AND p.id = i.pass_id`,
  incident: {
    firstStartTime: sql.raw('i.first_start_time'),
    runCount: sql.raw('i.run_count'),
    worstStatus: sql.raw('i.worst_status'),
  },
  healthDaily: sql`SELECT d.env_id, v.name AS env_name, d.asset_id, d.asset_name, d.dimension, d.day, l.score, d.mean_score,
  l.test_count, d.bucket_count, d.last_bucket_at
FROM (
  SELECT h.env_id, h.asset_id, a.name AS asset_name, h.dimension, CAST((h.bucket_at AT TIME ZONE 'UTC') AS date) AS day,
    avg(h.score) AS mean_score, count(*) AS bucket_count, max(h.bucket_at) AS last_bucket_at
  ${fromHealthHistory}
  GROUP BY h.env_id, h.asset_id, a.name, h.dimension, 5
) d
JOIN asset_health_score_history l ON l.env_id = d.env_id AND l.asset_id = d.asset_id AND l.dimension = d.dimension
  AND l.bucket_at = d.last_bucket_at
LEFT JOIN environments v ON v.id = d.env_id`,
  perRow: { lateral: sql.raw(' LATERAL'), condition: (condition) => sql` AND ${condition}` },
  named: (name) => sql.raw(` ${name}`),
  alsoBy: (columns) => sql.raw(`, ${columns}`),
};
