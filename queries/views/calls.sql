-- title = "One row a call, however many observers saw it"
-- by    = ["agent", "call_key"]
-- marks = { exchanges = { on = ["agent", "content_hash", "fact_id"] } }
--
-- Observers complete each other: an unknown value (`''`, null) gives way to a known one. Of two outcomes the more telling one stands:
-- what an agent answered says more than that a caller gave up waiting. Of two ends of a stream the fuller one stands, and who hung up is better
-- known to a tap that names the caller. `client_left`: the caller gave up before the answer. `server_saw`: the agent's own tap saw the call, so no
-- gateway before it answered. `accepted_modes`: what the request accepts, parted by blanks. `fact_id`: an observation that shows the
-- reply, if there is one.

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
    max(x.rpc_id) AS rpc_id,
    max(x.request_task_id) AS request_task_id,
    max(x.task_id) AS task_id,
    max(x.context_id) AS context_id,
    max(x.request_context_id) AS request_context_id,
    max(x.message_id) AS message_id,
    max(x.content_hash) AS content_hash,
    max(x.skill_id) AS skill_id,
    max(array_to_string(x.accepted_output_modes, ' ')) AS accepted_modes,
    max(x.http_status) AS http_status,
    max(x.error_code) AS error_code,
    max(x.error_reason) AS error_reason,
    max(x.error_text_class) AS error_text_class,
    max(x.reply_kind) AS reply_kind,
    bool_or(x.reply_state IN ('input-required', 'auth-required')) AS reply_waits,
    max(x.stream_events) AS stream_events,
    split_part(max(CASE x.stream_end
        WHEN 'terminal' THEN '6:terminal'
        WHEN 'interrupted' THEN '5:interrupted'
        WHEN 'message' THEN '4:message'
        WHEN 'error' THEN '3:error'
        WHEN 'client-closed' THEN '2:client-closed'
        WHEN 'cut' THEN '1:cut'
        ELSE '0:'
    END), ':', 2) AS stream_end,
    bool_or(coalesce(x.client_left, FALSE)) AS client_left,
    bool_or(x.observer = 'server') AS server_saw,
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
    split_part(min(concat(CASE WHEN x.reply_kind IN ('', 'none') THEN '1' ELSE '0' END, ' ', x.fact_id)), ' ', 2) AS fact_id
FROM exchanges AS x
INNER JOIN call_keys AS k ON x.agent = k.agent AND x.content_hash = k.content_hash AND x.fact_id = k.fact_id
GROUP BY x.agent, k.call_key
