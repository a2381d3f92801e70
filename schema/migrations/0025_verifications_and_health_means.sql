CREATE TABLE `asset_health_means` (
	`env_id` text NOT NULL,
	`day` text NOT NULL,
	`dimension` text NOT NULL,
	`score` real NOT NULL,
	`asset_count` integer NOT NULL,
	`scores_at` text NOT NULL,
	PRIMARY KEY(`env_id`, `day`, `dimension`)
);
--> statement-breakpoint
CREATE TABLE `verifications` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`ended_at` text NOT NULL,
	`depth` text NOT NULL,
	`equal` integer NOT NULL,
	`difference_count` integer NOT NULL
);
--> statement-breakpoint
DROP VIEW `test_incidents`;--> statement-breakpoint
CREATE VIEW `test_incidents` AS SELECT t.env_id, v.name AS env_name, t.test_id, t.name AS test_name, t.disabled AS test_disabled, t.asset_id,
  a.name AS asset_name, l.sub_test_unique_id, l.column_name, CAST(i.value ->> 2 AS TEXT) AS first_start_time,
  l.start_time AS last_start_time, CAST(i.value ->> 3 AS INTEGER) AS run_count,
  CAST(i.value ->> 4 AS TEXT) AS worst_status, l.status AS last_status, p.start_time AS resolved_at,
  CAST(round((julianday(COALESCE(p.start_time, l.start_time)) - julianday(i.value ->> 2)) * 86400, 3) AS REAL) AS duration_seconds,
  CAST(round((julianday(COALESCE(p.start_time, l.start_time)) - julianday(i.value ->> 2)) * 24, 3) AS REAL) AS duration_hours,
  CAST(CASE WHEN p.start_time IS NOT NULL THEN round((julianday(COALESCE(p.start_time, l.start_time)) - julianday(i.value ->> 2)) * 24, 3) END AS REAL) AS hours_to_resolve,
  CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(t.owners) THEN CASE json_type(t.owners) WHEN 'array' THEN t.owners END END) e) AS TEXT) AS test_owners, CAST((SELECT group_concat(CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT), ', ') FROM json_each(CASE WHEN json_valid(a.owners) THEN CASE json_type(a.owners) WHEN 'array' THEN a.owners END END) e) AS TEXT) AS asset_owners
FROM (
  SELECT env_id, id AS test_id, name, disabled, asset_id, owners FROM tests WHERE deleted_at IS NULL
  UNION ALL
  SELECT r.env_id, r.test_id, NULL, NULL, NULL, NULL
  FROM (SELECT DISTINCT env_id, test_id FROM test_executions
    WHERE test_id >= '' AND sub_test_unique_id >= '' AND status IN ('WARN', 'FAIL', 'ERROR')) r
  WHERE NOT EXISTS (SELECT 1 FROM tests n WHERE n.env_id = r.env_id AND n.id = r.test_id)
) t LEFT JOIN environments v ON v.id = t.env_id LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id AND a.deleted_at IS NULL
JOIN json_each((SELECT json_group_array(json_array(
    (SELECT y.rowid FROM test_executions y
      WHERE y.env_id = t.env_id AND y.test_id = t.test_id AND y.sub_test_unique_id = g.sub_test_unique_id
        AND y.status IN ('WARN', 'FAIL', 'ERROR') AND y.start_time = g.last_start_time
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
      WHERE f.env_id = t.env_id AND f.test_id = t.test_id AND f.status IN ('WARN', 'FAIL', 'ERROR')
    )
    GROUP BY sub_test_unique_id, next_pass
  ) g)) i
JOIN test_executions l ON l.rowid = i.value ->> 0
LEFT JOIN test_executions p ON p.rowid = i.value ->> 1;