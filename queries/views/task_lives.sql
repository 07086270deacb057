-- title = "One row a task: from when to when it was open, as the agent tells it"
--
-- `ended_at` is the earliest of the status time and the sight of the agent's first terminal statement; null while none is known.

SELECT
    t.agent,
    t.task_id,
    t.client,
    t.principal,
    t.skill_id,
    t.created_at,
    t.created_fact_id,
    t.last_at,
    CASE WHEN e.ended_at < e.first_seen_at THEN e.ended_at ELSE e.first_seen_at END AS ended_at,
    e.state AS end_state,
    e.fact_id AS end_fact_id
FROM tasks AS t
LEFT JOIN task_ends AS e ON t.agent = e.agent AND t.task_id = e.task_id AND e.speaker = 'server'
