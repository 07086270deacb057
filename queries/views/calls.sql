-- title = "One row a call, however many observers saw it"
-- by    = ["agent", "call_key"]
--
-- Observers complete each other: an unknown value (`''`, null) gives way to a known one. Of two outcomes the more telling one stands:
-- what an agent answered says more than that a caller gave up waiting.

SELECT
    x.agent,
    k.call_key,
    max(x.client) AS client,
    max(x.principal) AS principal,
    max(x.operation) AS operation,
    max(x.operation_raw) AS operation_raw,
    max(x.binding) AS binding,
    max(x.dialect) AS dialect,
    max(x.declared_version) AS declared_version,
    max(x.request_task_id) AS request_task_id,
    max(x.task_id) AS task_id,
    max(x.context_id) AS context_id,
    max(x.message_id) AS message_id,
    max(x.content_hash) AS content_hash,
    max(x.skill_id) AS skill_id,
    max(x.http_status) AS http_status,
    max(x.error_code) AS error_code,
    max(x.error_reason) AS error_reason,
    max(x.error_text_class) AS error_text_class,
    max(x.reply_kind) AS reply_kind,
    max(x.stream_end) AS stream_end,
    bool_or(coalesce(x.client_left, FALSE)) AS client_left,
    max(x.push_url) AS push_url,
    split_part(max(CASE x.outcome
        WHEN 'capability' THEN '9:capability'
        WHEN 'version' THEN '8:version'
        WHEN 'auth' THEN '7:auth'
        WHEN 'not-found' THEN '6:not-found'
        WHEN 'rate-limited' THEN '5:rate-limited'
        WHEN 'invalid' THEN '4:invalid'
        WHEN 'agent-error' THEN '3:agent-error'
        WHEN 'ok' THEN '2:ok'
        WHEN 'transport' THEN '1:transport'
        ELSE '0:'
    END), ':', 2) AS outcome,
    min(x.observed_at) AS observed_at,
    max(x.ended_at) AS ended_at,
    min(x.fact_id) AS fact_id
FROM exchanges AS x
INNER JOIN call_keys AS k ON x.agent = k.agent AND x.content_hash = k.content_hash AND x.fact_id = k.fact_id
GROUP BY x.agent, k.call_key
