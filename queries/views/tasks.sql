-- title = "One row a task: who made it, when, for which skill"
-- by    = ["agent", "task_id"]
--
-- The skill is that of the message that made the task, or of the first later one that names any. A refused send makes no task.

WITH sent AS (
    SELECT
        c.agent,
        c.task_id,
        c.call_key,
        c.client,
        c.principal,
        c.context_id,
        c.skill_id,
        c.push_url,
        c.observed_at,
        c.fact_id,
        row_number() OVER (PARTITION BY c.agent, c.task_id ORDER BY c.observed_at, c.fact_id) AS nth,
        row_number() OVER (
            PARTITION BY c.agent, c.task_id ORDER BY CASE WHEN c.skill_id <> '' THEN 0 ELSE 1 END, c.observed_at, c.fact_id
        ) AS nth_by_skill
    FROM calls AS c
    WHERE
        c.task_id <> '' AND c.operation IN ('SendMessage', 'SendStreamingMessage')
        AND c.outcome IN ('ok', 'agent-error', 'transport')
),

told AS (
    SELECT
        e.agent,
        e.task_id,
        max(CASE WHEN e.observer = 'receiver' THEN '' ELSE e.client END) AS client,
        max(e.context_id) AS context_id,
        max(e.skill_id) AS skill_id,
        min(e.observed_at) AS first_at,
        max(e.observed_at) AS last_at,
        min(e.fact_id) AS fact_id
    FROM task_events AS e
    WHERE e.task_id <> ''
    GROUP BY e.agent, e.task_id
)

SELECT
    t.agent,
    t.task_id,
    coalesce(s.client, t.client) AS client,
    coalesce(s.principal, '') AS principal,
    coalesce(nullif(s.context_id, ''), t.context_id) AS context_id,
    coalesce(nullif(k.skill_id, ''), t.skill_id) AS skill_id,
    coalesce(s.call_key, '') AS call_key,
    coalesce(k.call_key, '') AS skill_call_key,
    coalesce(s.observed_at, t.first_at) AS created_at,
    coalesce(s.fact_id, t.fact_id) AS created_fact_id,
    t.last_at
FROM told AS t
LEFT JOIN sent AS s ON t.agent = s.agent AND t.task_id = s.task_id AND s.nth = 1
LEFT JOIN sent AS k ON t.agent = k.agent AND t.task_id = k.task_id AND k.nth_by_skill = 1
