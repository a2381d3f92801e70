DROP VIEW `lineage_downstream`;--> statement-breakpoint
DROP VIEW `lineage_upstream`;--> statement-breakpoint
CREATE VIEW `lineage_downstream` AS SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, w.value ->> 0 AS downstream_asset_id,
  o.name AS downstream_name, CASE WHEN o.id IS NOT NULL THEN CASE WHEN o.kind IN ('table', 'bi', 'semantic', 'etl') THEN o.kind ELSE 'other' END END AS downstream_kind,
  w.value ->> 1 AS depth
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
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = r.env_id AND o.id = w.value ->> 0
WHERE a.deleted_at IS NULL;--> statement-breakpoint
CREATE VIEW `lineage_upstream` AS SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, w.value ->> 0 AS upstream_asset_id,
  o.name AS upstream_name, CASE WHEN o.id IS NOT NULL THEN CASE WHEN o.kind IN ('table', 'bi', 'semantic', 'etl') THEN o.kind ELSE 'other' END END AS upstream_kind,
  w.value ->> 1 AS depth
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
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = r.env_id AND o.id = w.value ->> 0
WHERE a.deleted_at IS NULL;