CREATE VIEW `asset_health` AS SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.score AS total,
  (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'completeness') AS completeness, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'uniqueness') AS uniqueness, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'freshness') AS freshness,
  (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'validity') AS validity, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'accuracy') AS accuracy, (SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = 'consistency') AS consistency,
  h.test_count, h.bucket_at
FROM asset_health_scores h LEFT JOIN environments v ON v.id = h.env_id LEFT JOIN assets a ON a.env_id = h.env_id AND a.id = h.asset_id
WHERE a.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `asset_owners` AS SELECT DISTINCT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, CASE WHEN a.kind IN ('table', 'bi', 'semantic', 'etl') THEN a.kind ELSE 'other' END AS kind,
  NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS owner
FROM assets a JOIN json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e LEFT JOIN environments v ON v.id = a.env_id
WHERE a.deleted_at IS NULL AND NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') IS NOT NULL;--> statement-breakpoint
CREATE VIEW `asset_tags` AS SELECT DISTINCT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, CASE WHEN a.kind IN ('table', 'bi', 'semantic', 'etl') THEN a.kind ELSE 'other' END AS kind,
  NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS tag
FROM assets a JOIN json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e LEFT JOIN environments v ON v.id = a.env_id
WHERE a.deleted_at IS NULL AND NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') IS NOT NULL;--> statement-breakpoint
CREATE VIEW `health_daily` AS SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.dimension,
  substr(h.bucket_at, 1, 10) AS day, h.score, avg(h.score) AS mean_score, h.test_count, count(*) AS bucket_count,
  max(h.bucket_at) AS last_bucket_at
FROM asset_health_score_history h LEFT JOIN environments v ON v.id = h.env_id LEFT JOIN assets a ON a.env_id = h.env_id AND a.id = h.asset_id
WHERE a.deleted_at IS NULL
GROUP BY h.env_id, h.asset_id, h.dimension, day;--> statement-breakpoint
CREATE VIEW `lineage_downstream` AS SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, w.key AS downstream_asset_id,
  o.name AS downstream_name, CASE WHEN o.id IS NOT NULL THEN CASE WHEN o.kind IN ('table', 'bi', 'semantic', 'etl') THEN o.kind ELSE 'other' END END AS downstream_kind,
  w.value AS depth
FROM (SELECT DISTINCT env_id, upstream_asset_id AS asset_id FROM asset_lineage) r LEFT JOIN environments v ON v.id = r.env_id LEFT JOIN assets a ON a.env_id = r.env_id AND a.id = r.asset_id
JOIN json_each((
  WITH RECURSIVE walk(id, depth) AS (
    SELECT r.asset_id, '' COLLATE RTRIM
    UNION
    SELECT e.downstream_asset_id, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = r.env_id AND unlikely(e.upstream_asset_id = walk.id)
    LEFT JOIN assets n ON n.env_id = e.env_id AND n.id = e.downstream_asset_id
    WHERE n.deleted_at IS NULL
    ORDER BY 2 COLLATE BINARY
  )
  SELECT json_group_object(id, length(depth)) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = r.env_id AND o.id = w.key
WHERE a.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `lineage_upstream` AS SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, w.key AS upstream_asset_id,
  o.name AS upstream_name, CASE WHEN o.id IS NOT NULL THEN CASE WHEN o.kind IN ('table', 'bi', 'semantic', 'etl') THEN o.kind ELSE 'other' END END AS upstream_kind,
  w.value AS depth
FROM (SELECT DISTINCT env_id, downstream_asset_id AS asset_id FROM asset_lineage) r LEFT JOIN environments v ON v.id = r.env_id LEFT JOIN assets a ON a.env_id = r.env_id AND a.id = r.asset_id
JOIN json_each((
  WITH RECURSIVE walk(id, depth) AS (
    SELECT r.asset_id, '' COLLATE RTRIM
    UNION
    SELECT e.upstream_asset_id, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = r.env_id AND unlikely(e.downstream_asset_id = walk.id)
    LEFT JOIN assets n ON n.env_id = e.env_id AND n.id = e.upstream_asset_id
    WHERE n.deleted_at IS NULL
    ORDER BY 2 COLLATE BINARY
  )
  SELECT json_group_object(id, length(depth)) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = r.env_id AND o.id = w.key
WHERE a.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `live_assets` AS SELECT a.env_id, v.name AS env_name, a.id, a.name, CASE WHEN a.kind IN ('table', 'bi', 'semantic', 'etl') THEN a.kind ELSE 'other' END AS kind, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization, a.bi_platform, a.bi_type, a.url,
  a.description, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS owners, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e) AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `live_bi_assets` AS SELECT a.env_id, v.name AS env_name, a.id, a.name, a.source_type, a.bi_platform, a.bi_type, a.url,
  a.description, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS owners, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e) AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL AND a.kind = 'bi';--> statement-breakpoint
CREATE VIEW `live_columns` AS SELECT c.env_id, v.name AS env_name, c.id, c.asset_id, a.name AS asset_name, c.name, c.data_type,
  c.synced_at, c.mirrored_at
FROM columns c LEFT JOIN environments v ON v.id = c.env_id LEFT JOIN assets a ON a.env_id = c.env_id AND a.id = c.asset_id AND a.deleted_at IS NULL
WHERE c.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `live_tables` AS SELECT a.env_id, v.name AS env_name, a.id, a.name, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization,
  a.description, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS owners, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(a.tags) THEN CASE json_type(a.tags) WHEN 'array' THEN a.tags END END) e) AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL AND a.kind = 'table';--> statement-breakpoint
CREATE VIEW `failing_tests` AS SELECT * FROM test_status WHERE status IN ('WARN', 'FAIL', 'ERROR');--> statement-breakpoint
CREATE VIEW `live_tests` AS SELECT t.env_id, v.name AS env_name, t.id, t.name, t.test_type, t.definition_type, t.source_type, t.severity,
  t.disabled, t.asset_id, a.name AS asset_name, t.column_name, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(t.owners) THEN CASE json_type(t.owners) WHEN 'array' THEN t.owners END END) e) AS owners,
  (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(t.tags) THEN CASE json_type(t.tags) WHEN 'array' THEN t.tags END END) e) AS tags, t.description, t.path, t.project, t.updated_at, t.synced_at, t.mirrored_at
FROM tests t LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
WHERE t.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `test_coverage` AS SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, a.db_name, a.schema_name,
  a.table_name,
  (SELECT count(*) FROM tests t
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND COALESCE(t.disabled, 0) = 0) AS test_count,
  (SELECT count(*) FROM columns c
    WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL) AS column_count,
  (SELECT count(DISTINCT lower(s.column_name)) FROM test_status s
    WHERE s.env_id = a.env_id AND s.asset_id = a.id) AS tested_column_count
FROM assets a LEFT JOIN environments v ON v.id = a.env_id WHERE a.deleted_at IS NULL AND a.kind = 'table';--> statement-breakpoint
CREATE VIEW `test_incidents` AS SELECT i.env_id, v.name AS env_name, i.test_id, t.name AS test_name, t.disabled AS test_disabled, t.asset_id,
  a.name AS asset_name, i.sub_test_unique_id, i.column_name, i.first_start_time, i.last_start_time, i.run_count,
  i.worst_status, i.last_status, i.resolved_at,
  round(i.days * 86400, 3) AS duration_seconds, round(i.days * 24, 3) AS duration_hours
FROM (
  SELECT env_id, test_id, sub_test_unique_id, column_name, min(start_time) OVER stretch AS first_start_time,
    start_time AS last_start_time, count(*) OVER stretch AS run_count, min(status) OVER stretch AS worst_status,
    status AS last_status, next_status, next_start_time AS resolved_at,
    julianday(COALESCE(next_start_time, start_time)) - julianday(min(start_time) OVER stretch) AS days
  FROM (
    SELECT env_id, test_id, sub_test_unique_id, column_name, start_time, status,
      lead(status) OVER runs AS next_status, lead(start_time) OVER runs AS next_start_time,
      count(CASE status WHEN 'PASS' THEN 1 END) OVER runs AS passes_before
    FROM test_executions
    WHERE status = 'PASS' OR status IN ('WARN', 'FAIL', 'ERROR')
    WINDOW runs AS (PARTITION BY env_id, test_id, sub_test_unique_id ORDER BY start_time, id)
  )
  WHERE status <> 'PASS'
  WINDOW stretch AS (PARTITION BY env_id, test_id, sub_test_unique_id, passes_before)
) i
LEFT JOIN tests t ON t.env_id = i.env_id AND t.id = i.test_id LEFT JOIN environments v ON v.id = i.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
WHERE t.deleted_at IS NULL AND (i.next_status IS NULL OR i.next_status = 'PASS');--> statement-breakpoint
CREATE VIEW `test_runs_daily` AS SELECT d.*, 1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS pass_rate
FROM (
  SELECT x.env_id, v.name AS env_name, substr(x.start_time, 1, 10) AS day, count(*) AS run_count,
    sum(x.status = 'PASS') AS pass_count, sum(x.status = 'WARN') AS warn_count, sum(x.status = 'FAIL') AS fail_count,
    sum(x.status = 'ERROR') AS error_count, sum(x.status <> 'PASS' AND x.status NOT IN ('WARN', 'FAIL', 'ERROR')) AS other_count
  FROM test_executions x LEFT JOIN environments v ON v.id = x.env_id
  GROUP BY x.env_id, day
) d;--> statement-breakpoint
CREATE VIEW `test_status` AS SELECT t.env_id, v.name AS env_name,
  t.id AS test_id, t.name AS test_name, t.test_type, t.severity, x.sub_test_unique_id, x.sub_type, t.asset_id,
  a.name AS asset_name, COALESCE(x.column_name, t.column_name) AS column_name, x.quality_dimension, x.status,
  x.failure_count, x.result_reason, x.exception, x.id AS execution_id, x.start_time, x.duration_seconds,
  (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(t.owners) THEN CASE json_type(t.owners) WHEN 'array' THEN t.owners END END) e) AS test_owners, (SELECT group_concat(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, ''), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS asset_owners
FROM tests t LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
LEFT JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
WHERE t.deleted_at IS NULL AND COALESCE(t.disabled, 0) = 0;