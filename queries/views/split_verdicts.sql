-- title = "Tasks on whose end the caller's own verdict and the agent's last word disagree"
-- by    = ["agent", "task_id"]
--
-- The last verdict of the caller stands, and the last end that the agent told, unless the agent told a later state. `age_s`: whole seconds from the
-- message that made the task to the verdict.

WITH ranked AS (
    SELECT
        s.agent,
        s.task_id,
        s.speaker,
        s.state,
        s.effective_at,
        s.observed_at,
        s.fact_id,
        row_number() OVER (
            PARTITION BY s.agent, s.task_id, s.speaker
            ORDER BY s.effective_at DESC NULLS LAST, s.observed_at DESC NULLS LAST, s.fact_id
        ) AS nth_last
    FROM task_statements AS s
    WHERE s.is_end
),

pairs AS (
    SELECT
        c.agent,
        c.task_id,
        c.state AS client_state,
        c.observed_at AS client_at,
        c.fact_id AS client_fact_id,
        s.state AS server_state,
        s.effective_at AS server_at,
        s.observed_at AS server_seen_at,
        s.fact_id AS server_fact_id
    FROM ranked AS c
    INNER JOIN ranked AS s ON c.agent = s.agent AND c.task_id = s.task_id
    WHERE c.speaker = 'client' AND c.nth_last = 1 AND s.speaker = 'server' AND s.nth_last = 1 AND c.state <> s.state
)

SELECT
    p.agent,
    p.task_id,
    t.client,
    p.client_state,
    p.client_at,
    p.client_fact_id,
    p.server_state,
    p.server_at,
    p.server_seen_at,
    p.server_fact_id,
    CAST(floor(
        extract(EPOCH FROM date_trunc('second', p.client_at)) - extract(EPOCH FROM date_trunc('second', t.created_at))
    ) AS BIGINT) AS age_s
FROM pairs AS p
INNER JOIN tasks AS t ON p.agent = t.agent AND p.task_id = t.task_id
WHERE
    NOT EXISTS (
        SELECT 1 FROM task_statements AS l
        WHERE l.agent = p.agent AND l.task_id = p.task_id AND l.speaker = 'server' AND NOT l.is_end AND l.status_at > p.server_at
    )
