-- title = "How and when each side first said that a task ended"
-- by    = ["agent", "task_id"]
--
-- `speaker` `server`: any statement of the agent, whoever taped it. `client`: the caller's own verdict (origin `local`). `ended_at` is the
-- status time where it is given, else when it was seen; `first_seen_at` is always when it was first seen.

WITH said AS (
    SELECT
        e.agent,
        e.task_id,
        CASE WHEN e.origin = 'local' AND e.observer <> 'server' THEN 'client' ELSE 'server' END AS speaker,
        e.state,
        e.status_at,
        e.observed_at,
        e.fact_id
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.state IN ('completed', 'failed', 'canceled', 'rejected')
),

ranked AS (
    SELECT
        s.agent,
        s.task_id,
        s.speaker,
        s.state,
        s.fact_id,
        coalesce(s.status_at, s.observed_at) AS ended_at,
        min(s.observed_at) OVER (PARTITION BY s.agent, s.task_id, s.speaker) AS first_seen_at,
        row_number() OVER (
            PARTITION BY s.agent, s.task_id, s.speaker
            ORDER BY coalesce(s.status_at, s.observed_at), s.observed_at, s.fact_id
        ) AS nth
    FROM said AS s
)

SELECT
    r.agent,
    r.task_id,
    r.speaker,
    r.state,
    r.ended_at,
    r.first_seen_at,
    r.fact_id
FROM ranked AS r
WHERE r.nth = 1
