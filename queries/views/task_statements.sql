-- title = "What each side said about a task's state, in that side's order"
-- by    = ["agent", "task_id"]
--
-- Only tasks whose order can matter: more than one state after the first end, or a client's own verdict. Order of one observer: generation
-- counter, else status time carried forward, else position in the stream, else time of observation.

WITH screened AS (
    SELECT
        e.agent,
        e.task_id
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.state <> 'unknown'
    GROUP BY e.agent, e.task_id
    HAVING
        bool_or(e.state IN ('completed', 'failed', 'canceled', 'rejected'))
        AND min(e.state) <> max(e.state)
),

said AS (
    SELECT
        e.agent,
        e.task_id,
        CASE WHEN e.origin = 'local' AND e.observer = 'client' THEN 'client' ELSE 'server' END AS speaker,
        e.observer,
        e.observer_name,
        e.origin,
        e.operation,
        e.snapshot,
        e.server_address,
        e.state,
        e.state IN ('completed', 'failed', 'canceled', 'rejected') AS is_end,
        e.status_at,
        e.generation,
        e.ordinal,
        e.observed_at,
        e.fact_id,
        coalesce(e.status_at, max(e.status_at) OVER (
            PARTITION BY e.agent, e.task_id, e.observer, e.observer_name
            ORDER BY e.observed_at, e.ordinal NULLS FIRST, e.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ), e.observed_at) AS effective_at
    FROM task_events AS e
    INNER JOIN screened AS s ON e.agent = s.agent AND e.task_id = s.task_id
    WHERE e.state <> 'unknown'
)

SELECT
    s.agent,
    s.task_id,
    s.speaker,
    s.observer,
    s.observer_name,
    s.origin,
    s.operation,
    s.snapshot,
    s.server_address,
    s.state,
    s.is_end,
    s.status_at,
    s.generation,
    s.ordinal,
    s.observed_at,
    s.effective_at,
    s.fact_id
FROM said AS s
