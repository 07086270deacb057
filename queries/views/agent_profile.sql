-- title  = "How long an agent's tasks take, coarsely"
-- by     = ["agent"]
-- params = { tasks = 10, share = 0.99, factor = 10 }
--
-- `patience_s`: `factor` times the duration below which `share` of the agent's own tasks ended; null until there are `tasks` of them. Coarse, so
-- that a task that ends hardly ever changes it. `never_ends`: no task ever ended by itself, see `never_ending`.

WITH classes AS (
    SELECT
        d.agent,
        d.duration_class,
        sum(d.tasks) AS tasks
    FROM duration_classes AS d
    WHERE d.duration_class IS NOT NULL
    GROUP BY d.agent, d.duration_class
),

totals AS (
    SELECT
        c.agent,
        sum(c.tasks) AS tasks
    FROM classes AS c
    GROUP BY c.agent
    HAVING sum(c.tasks) >= $tasks
),

shares AS (
    SELECT
        c.agent,
        c.duration_class,
        sum(b.tasks) AS below
    FROM classes AS c
    INNER JOIN classes AS b ON c.agent = b.agent AND c.duration_class >= b.duration_class
    GROUP BY c.agent, c.duration_class
),

typical AS (
    SELECT
        s.agent,
        min(s.duration_class) AS duration_class
    FROM shares AS s
    INNER JOIN totals AS t ON s.agent = t.agent
    WHERE s.below >= t.tasks * $share
    GROUP BY s.agent
)

SELECT
    t.agent,
    t.duration_class,
    CAST(ceil($factor * power(2.0, t.duration_class / 4.0)) AS BIGINT) AS patience_s,
    FALSE AS never_ends
FROM typical AS t
UNION ALL
SELECT
    n.agent,
    CAST(NULL AS BIGINT) AS duration_class,
    CAST(NULL AS BIGINT) AS patience_s,
    TRUE AS never_ends
FROM never_ending AS n
