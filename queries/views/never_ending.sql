-- title  = "Agents of which no task ever ended by itself"
-- by     = ["agent"]
-- params = { tasks = 20, silence = "1 hour" }
--
-- `task_id` is `''`: the finding is about the agent. `due_at` is when there were `tasks` of them, and one had been silent for `silence`.

WITH numbered AS (
    SELECT
        o.agent,
        o.task_id,
        o.created_at,
        o.created_fact_id,
        o.state_fact_id,
        o.changed_at,
        row_number() OVER (PARTITION BY o.agent ORDER BY o.created_at, o.created_fact_id) AS nth
    FROM open_tasks AS o
),

counted AS (
    SELECT
        n.agent,
        -- None has this number: `''`, of the type that a task's id has.
        max(CASE WHEN n.nth = 0 THEN n.task_id ELSE '' END) AS task_id,
        max(CASE WHEN n.nth = $tasks THEN n.created_at END) AS enough_at,
        max(CASE WHEN n.nth = $tasks THEN n.created_fact_id END) AS enough_fact_id,
        max(CASE WHEN n.nth = 1 THEN n.state_fact_id END) AS first_fact_id,
        min(n.created_at) AS first_at,
        min(n.changed_at) + CAST($silence AS INTERVAL) AS silent_at
    FROM numbered AS n
    GROUP BY n.agent
    HAVING count(*) >= $tasks
)

SELECT
    c.agent,
    c.task_id,
    c.first_at,
    c.enough_at,
    c.first_fact_id,
    c.enough_fact_id,
    CASE WHEN c.silent_at > c.enough_at THEN c.silent_at ELSE c.enough_at END AS due_at
FROM counted AS c
WHERE NOT EXISTS (SELECT 1 FROM duration_classes AS d WHERE d.agent = c.agent)
