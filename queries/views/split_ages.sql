-- title  = "One age at which a caller gives up on several tasks of an agent, against the agent's word"
-- by     = ["agent"]
-- params = { tasks = 3, jitter_s = 1, shortest_s = 5 }
--
-- One constant age is the mark of a watchdog: the verdict says how long the caller waits, not how the task went.

SELECT
    v.agent,
    v.age_s,
    count(DISTINCT o.task_id) AS tasks
FROM split_verdicts AS v
INNER JOIN split_verdicts AS o ON v.agent = o.agent AND o.age_s >= v.age_s - $jitter_s AND o.age_s <= v.age_s + $jitter_s
WHERE v.age_s >= $shortest_s
GROUP BY v.agent, v.age_s
HAVING count(DISTINCT o.task_id) >= $tasks
