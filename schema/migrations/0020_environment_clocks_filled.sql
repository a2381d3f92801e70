-- Every environment carries on from the clock and the counter that the whole file had.
INSERT INTO `mirror_environments` (`env_id`, `mirrored_at`, `last_mark`)
SELECT `e`.`id`, `m`.`mirrored_at`, `m`.`last_mark`
FROM (SELECT `id` FROM `environments` UNION SELECT `env_id` FROM `sync_checkpoints`) `e` CROSS JOIN `mirror` `m`;
