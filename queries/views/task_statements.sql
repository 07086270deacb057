-- title = "What each side said about a task's state, in that side's order"
-- by    = ["agent", "task_id"]
--
-- Only tasks whose order can matter: a verdict of the caller's own, two different ends, or a state told after an end or before its turn. Order of
-- one observer: generation counter, else status time (`effective_at` carries it over statements that have none), else position in the
-- stream, else time of observation. `speaker` `client`: the caller's own verdict (origin `local`); `server`: all else, whoever taped it.

WITH screened AS (
    SELECT
        e.agent,
        e.task_id
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.state <> 'unknown'
    GROUP BY e.agent, e.task_id
    HAVING
        min(e.state) <> max(e.state)
        AND (
            bool_or(e.origin = 'local')
            OR min(e.state) FILTER (WHERE e.state IN ('completed', 'failed', 'canceled', 'rejected'))
            <> max(e.state) FILTER (WHERE e.state IN ('completed', 'failed', 'canceled', 'rejected'))
            OR max(coalesce(e.status_at, e.observed_at)) FILTER (WHERE e.state NOT IN ('completed', 'failed', 'canceled', 'rejected'))
            >= min(coalesce(e.status_at, e.observed_at)) FILTER (WHERE e.state IN ('completed', 'failed', 'canceled', 'rejected'))
            OR max(coalesce(e.status_at, e.observed_at)) FILTER (WHERE e.state = 'submitted')
            >= min(coalesce(e.status_at, e.observed_at)) FILTER (WHERE e.state <> 'submitted')
        )
)

SELECT
    e.agent,
    e.task_id,
    CASE WHEN e.origin = 'local' AND e.observer <> 'server' THEN 'client' ELSE 'server' END AS speaker,
    e.observer,
    e.observer_name,
    e.record_id,
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
