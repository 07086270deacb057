-- title = "Refusals for lack of a capability, each once however often reported"
--
-- `kind` `task`: a task that was accepted and ended failed or rejected for its skill or mode. `kind` `call`: a call refused outright.
-- Version, not-found, terminal-task, rate-limit, transport and auth failures are none. `failure_key` names the task or the call. `about`: what was refused,
-- `skill`, `mode`, `push`, `streaming` or `unsaid`.

SELECT
    f.agent,
    concat('task:', f.task_id) AS failure_key,
    'task' AS kind,
    f.client,
    f.skill_id,
    f.call_key,
    f.task_id,
    f.reason_class,
    CAST(NULL AS BIGINT) AS error_code,
    CASE f.reason_class WHEN 'unknown-skill' THEN 'skill' ELSE 'mode' END AS about,
    f.sent_at,
    f.observed_at,
    f.fact_id
FROM failed_tasks AS f
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
    c.about,
    c.sent_at,
    c.observed_at,
    c.fact_id
FROM refused_calls AS c
