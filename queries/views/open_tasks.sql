-- title = "Tasks of which no end was told, and their last change"
-- by    = ["agent", "task_id"]
--
-- A change is a state or status time not told before, an event of a stream or push that has no time, or a piece of an artifact. Reading a task
-- changes nothing. Times are those of sight: clocks of agents may be off by hours. `read_at` is the last sight by
-- anybody but a webhook, whose clock may be another, and which reads nothing.

WITH open AS (
    SELECT
        e.agent,
        e.task_id
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.origin <> 'local' AND e.state <> 'unknown'
    GROUP BY e.agent, e.task_id
    HAVING NOT bool_or(e.state IN ('completed', 'failed', 'canceled', 'rejected'))
),

stands AS (
    SELECT
        e.agent,
        e.task_id,
        e.state,
        e.status_at,
        min(e.observed_at) AS seen_at,
        max(CASE
            WHEN e.status_at IS NOT NULL THEN CAST(NULL AS TIMESTAMP)
            WHEN e.origin = 'push' OR (e.origin = 'stream' AND NOT (e.operation = 'SubscribeToTask' AND e.snapshot)) THEN e.observed_at
            WHEN e.origin = 'reply' AND e.operation IN ('SendMessage', 'SendStreamingMessage') THEN e.observed_at
        END) AS active_at,
        max(CASE WHEN e.origin = 'push' AND e.observer = 'receiver' THEN CAST(NULL AS TIMESTAMP) ELSE e.observed_at END) AS read_at,
        min(e.fact_id) AS fact_id
    FROM task_events AS e
    INNER JOIN open AS o ON e.agent = o.agent AND e.task_id = o.task_id
    WHERE e.origin <> 'local' AND e.state <> 'unknown'
    GROUP BY e.agent, e.task_id, e.state, e.status_at
),

ranked AS (
    SELECT
        s.agent,
        s.task_id,
        s.state,
        CASE WHEN s.active_at IS NOT NULL AND s.active_at > s.seen_at THEN s.active_at ELSE s.seen_at END AS changed_at,
        s.read_at,
        s.fact_id,
        row_number() OVER (
            PARTITION BY s.agent, s.task_id
            ORDER BY
                CASE WHEN s.status_at IS NULL AND s.state = 'submitted' THEN 1 ELSE 0 END,
                coalesce(s.status_at, s.seen_at) DESC NULLS LAST, s.seen_at DESC NULLS LAST, s.fact_id
        ) AS nth_last
    FROM stands AS s
),

told AS (
    SELECT
        r.agent,
        r.task_id,
        max(CASE WHEN r.nth_last = 1 THEN r.state END) AS state,
        max(CASE WHEN r.nth_last = 1 THEN r.fact_id END) AS state_fact_id,
        max(r.changed_at) AS changed_at,
        max(r.read_at) AS read_at
    FROM ranked AS r
    GROUP BY r.agent, r.task_id
),

pieces AS (
    SELECT
        a.agent,
        a.task_id,
        max(a.observed_at) AS piece_at
    FROM artifact_parts AS a
    INNER JOIN open AS o ON a.agent = o.agent AND a.task_id = o.task_id
    WHERE NOT coalesce(a.snapshot, FALSE)
    GROUP BY a.agent, a.task_id
)

SELECT
    t.agent,
    t.task_id,
    k.client,
    k.skill_id,
    k.created_at,
    k.created_fact_id,
    t.state,
    t.state_fact_id,
    CASE WHEN p.piece_at IS NOT NULL AND p.piece_at > t.changed_at THEN p.piece_at ELSE t.changed_at END AS changed_at,
    coalesce(t.read_at, t.changed_at) AS read_at
FROM told AS t
INNER JOIN tasks AS k ON t.agent = k.agent AND t.task_id = k.task_id
LEFT JOIN pieces AS p ON t.agent = p.agent AND t.task_id = p.task_id
