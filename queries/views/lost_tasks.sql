-- title = "Running tasks that their agent no longer knows"
-- by    = ["agent", "task_id"]
--
-- Last told of as not ended, then not found by a call that names them, and never told of again. Ids never seen, tasks that had ended and reads that
-- go back and forth are none. A subscription alone proves nothing: its queue may be gone while the task runs.

WITH missing AS (
    SELECT
        c.agent,
        c.task_id,
        min(c.observed_at) AS lost_at,
        min(c.fact_id) AS missing_fact_id
    FROM calls AS c
    WHERE
        c.task_id <> '' AND c.outcome = 'not-found' AND c.error_text_class NOT IN ('timeout', 'transport')
        AND c.operation IN ('GetTask', 'SendMessage', 'SendStreamingMessage', 'CancelTask')
    GROUP BY c.agent, c.task_id
),

told AS (
    SELECT
        m.agent,
        m.task_id,
        m.lost_at,
        m.missing_fact_id,
        e.state,
        e.observed_at,
        e.fact_id,
        max(CASE WHEN e.state IN ('completed', 'failed', 'canceled', 'rejected') THEN 1 ELSE 0 END) OVER (
            PARTITION BY m.agent, m.task_id
        ) AS has_ended,
        row_number() OVER (
            PARTITION BY m.agent, m.task_id ORDER BY e.observed_at DESC NULLS LAST, e.ordinal DESC NULLS LAST, e.fact_id
        ) AS nth_last
    FROM missing AS m
    INNER JOIN task_events AS e ON m.agent = e.agent AND m.task_id = e.task_id
    WHERE e.origin <> 'local' AND e.state <> 'unknown'
)

SELECT
    t.agent,
    t.task_id,
    t.state,
    t.observed_at AS seen_at,
    t.fact_id AS seen_fact_id,
    t.lost_at,
    t.missing_fact_id
FROM told AS t
WHERE
    t.nth_last = 1 AND t.has_ended = 0 AND t.observed_at < t.lost_at
    AND NOT EXISTS (SELECT 1 FROM split_reads AS s WHERE s.agent = t.agent AND s.task_id = t.task_id)
