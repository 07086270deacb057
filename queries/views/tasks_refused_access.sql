-- title = "Tasks that ended failed or rejected because somebody's credentials were refused"
-- by    = ["agent", "task_id"]

SELECT
    e.agent,
    e.task_id,
    min(e.observed_at) AS observed_at,
    min(e.fact_id) AS fact_id
FROM task_events AS e
WHERE e.task_id <> '' AND e.origin <> 'local' AND e.state IN ('failed', 'rejected') AND e.reason_class = 'auth'
GROUP BY e.agent, e.task_id
