-- The means of the days that the mirror has already seen.
INSERT INTO `asset_health_means` (`env_id`, `day`, `dimension`, `score`, `asset_count`, `scores_at`)
SELECT `env_id`, `day`, `dimension`, avg(`score`), count(*), '' FROM `health_daily` GROUP BY `env_id`, `day`, `dimension`;
