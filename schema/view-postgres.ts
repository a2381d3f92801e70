import { type SQL, sql } from 'drizzle-orm';
import type { LineageWalk, ViewDialect } from './view-dialect.ts';
import { failing, fromHealthHistory } from './view-parts.ts';

const typedText = (value: SQL) => sql`CAST(${value} AS text) COLLATE "C"`;
const typedInteger = (value: SQL) => sql`CAST(${value} AS bigint)`;
const typedReal = (value: SQL) => sql`CAST(${value} AS double precision)`;

/** Milliseconds since the year -4713 as a double of days, like SQLite: differences are the same double in both. */
const julianDay = (time: SQL) =>
  sql`(CAST(floor(extract(epoch FROM ${time}) * 1000 + 0.5) + 210866760000000 AS double precision) / 86400000)`;

/** A double as SQLite prints it; `n` is the shortest decimal number that identifies it. */
const SHOWN_REAL = `(SELECT CASE WHEN r.n = 0 THEN '0.0'
        WHEN abs(r.n) < 0.0001 OR abs(r.n) >= 1e17
        THEN replace(regexp_replace(btrim(to_char(r.n, '9.9999999999999999EEEE')), '0+e', 'e'), '.e', '.0e')
        WHEN strpos(r.n::text, '.') = 0 THEN r.n::text || '.0' ELSE r.n::text END
      FROM (SELECT CAST(CAST(token AS double precision) AS text)::numeric AS n) r)`;

/** A JSON number as SQLite prints it. It never fails, however many digits the number has. */
const SHOWN_NUMBER = `CASE WHEN token ~ '^-?[0-9]{1,18}$' THEN token::bigint::text
      WHEN length(token) > 10000 THEN token
      WHEN token ~ '[eE][-]0*[0-9]{4}' THEN '0.0'
      WHEN token ~ '[eE][+]?0*[1-9][0-9]{3}' OR abs(token::numeric) > 1.7976931348623157e308
      THEN CASE WHEN token LIKE '-%' THEN '-Inf' ELSE 'Inf' END
      WHEN abs(token::numeric) < 3e-324 THEN '0.0'
      WHEN token ~ '^-?[0-9]{19}$' AND abs(token::numeric) <= 9223372036854775807 THEN token
      ELSE ${SHOWN_REAL} END`;

/** The first of these members that has a value. */
const MEMBER = ['name', 'email', 'id']
  .map((name) => `WHEN COALESCE(element ->> '${name}', '') <> '' THEN element -> '${name}' `)
  .join('');

/** The functions that views call: the parameters, and the rest of each definition. */
export const VIEW_FUNCTIONS = {
  /**
   * The labels of the elements of a JSON array, NULL for one without a label. Within an object, true becomes 1, as in
   * SQLite. It is a function because Citus allows none that returns rows within a correlated subquery.
   */
  'element_labels(list json)': `RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  element json; member json; shown json; token text; label text; labels text[] := '{}';
BEGIN
  IF json_typeof(list) <> 'array' THEN RETURN labels; END IF;
  FOR element IN SELECT y.value FROM json_array_elements(list) y LOOP
    member := CASE WHEN json_typeof(element) = 'object' THEN CASE ${MEMBER}END END;
    shown := COALESCE(member, element);
    token := shown::text;
    IF json_typeof(shown) = 'number' THEN label := ${SHOWN_NUMBER};
    ELSE label := CASE json_typeof(shown)
      WHEN 'string' THEN shown #>> '{}'
      WHEN 'boolean' THEN CASE WHEN member IS NULL THEN token WHEN token = 'true' THEN '1' ELSE '0' END
      WHEN 'null' THEN NULL
      ELSE token END;
    END IF;
    labels := labels || NULLIF(label, '');
  END LOOP;
  RETURN labels;
END $$`,
};

/** The labels of a list, separated by commas. Most lists are compact and have plain texts only: these need no call. */
const listed = (list: string) => `CASE WHEN ${list}::text ~ '^\\["[^"\\\\]+"(,"[^"\\\\]+")*\\]$'
    THEN replace(substr(${list}::text, 3, length(${list}::text) - 4), '","', ', ')
    WHEN ${list}::text <> '[]' THEN NULLIF(array_to_string(element_labels(${list}), ', '), '') END`;

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
const incidents = sql`SELECT g.env_id, g.sub_test_unique_id, g.pass_id, min(g.start_time) AS first_start_time, count(*) AS run_count,
    min(g.status) AS worst_status, (array_agg(g.id ORDER BY g.start_time DESC, g.id DESC))[1] AS last_id
  FROM (
    SELECT f.env_id, f.sub_test_unique_id, f.id, f.start_time, f.status, (
      SELECT n.id FROM test_executions n
      WHERE n.env_id = f.env_id AND n.test_id = t.test_id AND n.start_time >= f.start_time AND n.status = 'PASS'
        AND n.sub_test_unique_id = f.sub_test_unique_id AND (n.start_time > f.start_time OR n.id > f.id)
      ORDER BY n.start_time, n.id LIMIT 1) AS pass_id
    FROM test_executions f
    WHERE f.env_id = t.env_id AND f.test_id = t.test_id AND f.status IN ${failing}
  ) g
  GROUP BY g.env_id, g.sub_test_unique_id, g.pass_id`;

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
  joinElements: (list) => sql.raw(`CROSS JOIN LATERAL unnest(element_labels(${list})) AS e(label)`),
  label: sql.raw('e.label COLLATE "C"'),
  listed: (list) => typedText(sql.raw(listed(list))),
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
  joinIncidents: sql`JOIN LATERAL (${incidents}) i ON i.env_id = t.env_id
LEFT JOIN test_executions l ON l.env_id = i.env_id AND l.sub_test_unique_id = i.sub_test_unique_id AND l.id = i.last_id
LEFT JOIN test_executions p ON p.env_id = i.env_id AND p.sub_test_unique_id = i.sub_test_unique_id AND p.id = i.pass_id`,
  incident: {
    // The incidents' own, not the one that `t` unites: Citus joins other tables only by this.
    envId: sql.raw('i.env_id'),
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
