-- title = "Tasks that were accepted and ended failed or rejected for their skill or mode"
-- by    = ["agent", "task_id"]

WITH failed AS (
    SELECT
        e.agent,
        e.task_id,
        max(e.reason_class) AS reason_class,
        min(e.observed_at) AS failed_at,
        min(e.fact_id) AS fact_id
    FROM task_events AS e
    WHERE
        e.task_id <> '' AND e.origin <> 'local' AND e.state IN ('failed', 'rejected')
        AND e.reason_class IN ('unknown-skill', 'unsupported-mode')
    GROUP BY e.agent, e.task_id
)

SELECT
    f.agent,
    f.task_id,
    t.client,
    t.skill_id,
    t.skill_call_key AS call_key,
    f.reason_class,
    t.created_at AS sent_at,
    f.failed_at AS observed_at,
    f.fact_id
FROM failed AS f
INNER JOIN tasks AS t ON f.agent = t.agent AND f.task_id = t.task_id
