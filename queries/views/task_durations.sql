-- title = "How long tasks took that ended by themselves"
-- by    = ["agent", "task_id"]
--
-- `duration_class` is `ceil(4 * log2(seconds))`, coarse on purpose; null where the message that made the task was not seen. Canceled tasks say nothing
-- about how long their agent works.

SELECT
    t.agent,
    t.task_id,
    date_trunc('hour', e.first_seen_at) AS ended_hour,
    CASE
        WHEN t.call_key = '' THEN CAST(NULL AS BIGINT)
        WHEN
            extract(EPOCH FROM date_trunc('second', e.first_seen_at)) - extract(EPOCH FROM date_trunc('second', t.created_at)) < 1
            THEN CAST(0 AS BIGINT)
        ELSE CAST(ceil(4 * log2(
            extract(EPOCH FROM date_trunc('second', e.first_seen_at)) - extract(EPOCH FROM date_trunc('second', t.created_at))
        )) AS BIGINT)
    END AS duration_class
FROM tasks AS t
INNER JOIN task_ends AS e ON t.agent = e.agent AND t.task_id = e.task_id
WHERE e.speaker = 'server' AND e.state <> 'canceled'
