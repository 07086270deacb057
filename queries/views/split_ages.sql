-- title  = "One age at which a caller gives up on several tasks of an agent, against the agent's word"
-- by     = ["agent"]
-- params = { tasks = 3, jitter_s = 1, shortest_s = 5 }
--
-- One constant age is the mark of a watchdog: the verdict says how long the caller waits, not how the task went.

WITH ages AS (
    SELECT
        v.agent,
        v.age_s,
        count(*) AS tasks
    FROM split_verdicts AS v
    GROUP BY v.agent, v.age_s
)

SELECT
    a.agent,
    a.age_s,
    CAST(sum(o.tasks) AS BIGINT) AS tasks
FROM ages AS a
INNER JOIN ages AS o ON a.agent = o.agent AND o.age_s >= a.age_s - $jitter_s AND o.age_s <= a.age_s + $jitter_s
WHERE a.age_s >= $shortest_s
GROUP BY a.agent, a.age_s
HAVING sum(o.tasks) >= $tasks
