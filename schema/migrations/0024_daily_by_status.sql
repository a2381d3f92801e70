DROP VIEW `test_runs_daily`;--> statement-breakpoint
DROP VIEW `test_runs_daily_by_owner`;--> statement-breakpoint
DROP VIEW `test_runs_daily_by_schema`;--> statement-breakpoint
DROP VIEW `test_runs_daily_by_tag`;--> statement-breakpoint
DROP VIEW `test_runs_daily_by_test_type`;--> statement-breakpoint
CREATE VIEW `test_runs_daily` AS SELECT d.env_id, v.name AS env_name, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x 
    GROUP BY x.env_id, day, x.status
  )
  GROUP BY env_id, day
) d LEFT JOIN environments v ON v.id = d.env_id;--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_owner` AS SELECT d.env_id, v.name AS env_name, d.owner, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, owner, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, o.owner AS owner, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN (SELECT DISTINCT t.env_id, t.id AS test_id, CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS owner
    FROM tests t LEFT JOIN assets a ON a.env_id = t.env_id AND a.id = t.asset_id JOIN json_each(CASE WHEN json_valid(COALESCE(NULLIF(t.owners, '[]'), a.owners)) THEN CASE json_type(COALESCE(NULLIF(t.owners, '[]'), a.owners)) WHEN 'array' THEN COALESCE(NULLIF(t.owners, '[]'), a.owners) END END) e
    WHERE CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL) o ON o.env_id = x.env_id AND o.test_id = x.test_id
    GROUP BY x.env_id, owner, day, x.status
  )
  GROUP BY env_id, owner, day
) d LEFT JOIN environments v ON v.id = d.env_id;--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_schema` AS SELECT d.env_id, v.name AS env_name, d.db_name, d.schema_name, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, db_name, schema_name, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, a.db_name AS db_name, a.schema_name AS schema_name, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN tests t ON t.env_id = x.env_id AND t.id = x.test_id LEFT JOIN assets a ON a.env_id = x.env_id AND a.id = t.asset_id
    GROUP BY x.env_id, db_name, schema_name, day, x.status
  )
  GROUP BY env_id, db_name, schema_name, day
) d LEFT JOIN environments v ON v.id = d.env_id;--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_tag` AS SELECT d.env_id, v.name AS env_name, d.tag, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, tag, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, g.tag AS tag, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN (SELECT DISTINCT t.env_id, t.id AS test_id, CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) AS tag FROM tests t JOIN json_each(CASE WHEN json_valid(t.tags) THEN CASE json_type(t.tags) WHEN 'array' THEN t.tags END END) e
    WHERE CAST(NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '') AS TEXT) IS NOT NULL) g ON g.env_id = x.env_id AND g.test_id = x.test_id
    GROUP BY x.env_id, tag, day, x.status
  )
  GROUP BY env_id, tag, day
) d LEFT JOIN environments v ON v.id = d.env_id;--> statement-breakpoint
CREATE VIEW `test_runs_daily_by_test_type` AS SELECT d.env_id, v.name AS env_name, d.test_type, d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  CAST(1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS REAL) AS pass_rate
FROM (
  SELECT env_id, test_type, day, CAST(sum(runs) AS INTEGER) AS run_count, CAST(sum(CASE WHEN status = 'PASS' THEN runs ELSE 0 END) AS INTEGER) AS pass_count,
    CAST(sum(CASE WHEN status = 'WARN' THEN runs ELSE 0 END) AS INTEGER) AS warn_count, CAST(sum(CASE WHEN status = 'FAIL' THEN runs ELSE 0 END) AS INTEGER) AS fail_count,
    CAST(sum(CASE WHEN status = 'ERROR' THEN runs ELSE 0 END) AS INTEGER) AS error_count,
    CAST(sum(CASE WHEN status NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR') THEN runs ELSE 0 END) AS INTEGER) AS other_count
  FROM (
    SELECT x.env_id, t.test_type AS test_type, CAST(substr(x.start_time, 1, 10) AS TEXT) AS day, x.status, count(*) AS runs
    FROM test_executions x LEFT JOIN tests t ON t.env_id = x.env_id AND t.id = x.test_id
    GROUP BY x.env_id, test_type, day, x.status
  )
  GROUP BY env_id, test_type, day
) d LEFT JOIN environments v ON v.id = d.env_id;