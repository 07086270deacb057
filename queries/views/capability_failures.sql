-- title = "Refusals for lack of a capability, each once however often reported"
-- by    = ["agent", "failure_key"]
--
-- `kind` `task`: a task that was accepted and ended failed or rejected for its skill or mode. `kind` `call`: a call refused outright.
-- Version, not-found, terminal-task, rate-limit, transport and auth failures are none.

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
    concat('task:', f.task_id) AS failure_key,
    'task' AS kind,
    t.client,
    t.skill_id,
    t.skill_call_key AS call_key,
    f.task_id,
    f.reason_class,
    CAST(NULL AS BIGINT) AS error_code,
    t.created_at AS sent_at,
    f.failed_at AS observed_at,
    f.fact_id
FROM failed AS f
INNER JOIN tasks AS t ON f.agent = t.agent AND f.task_id = t.task_id
UNION ALL
SELECT
    c.agent,
    concat('call:', c.call_key) AS failure_key,
    'call' AS kind,
    c.client,
    c.skill_id,
    c.call_key,
    c.task_id,
    c.error_text_class AS reason_class,
    c.error_code,
    c.observed_at AS sent_at,
    coalesce(c.ended_at, c.observed_at) AS observed_at,
    c.fact_id
FROM calls AS c
WHERE c.outcome = 'capability' AND c.operation IN ('SendMessage', 'SendStreamingMessage')
