-- title  = "Tasks of which no webhook delivery was received at a time that fits what it tells"
-- by     = ["agent", "task_id"]
-- params = { off = "10 minutes" }
--
-- What a webhook is told carries the time of its status, by the clock of the agent; when it came is by the clock of the receiver. Where all
-- that was received of a task lies far from the times that it tells, the two clocks cannot be compared: whether the receiver's is wrong or the
-- sender began hours late, nobody can say. One that fits shows that the clock is right, and that the others are late.

SELECT
    e.agent,
    e.task_id,
    min(e.fact_id) AS fact_id
FROM task_events AS e
WHERE e.origin = 'push' AND e.observer = 'receiver' AND e.task_id <> '' AND e.status_at IS NOT NULL
GROUP BY e.agent, e.task_id
HAVING NOT bool_or(
    e.observed_at <= e.status_at + CAST($off AS INTERVAL) AND e.observed_at >= e.status_at - CAST($off AS INTERVAL)
)
