-- title = "Messages that the agent refused outright for lack of a capability"
-- by    = ["agent", "call_key"]
--
-- `about`: what was refused, `skill`, `mode`, `push`, `streaming`, or `unsaid` where neither words nor reason tell.

SELECT
    c.agent,
    c.call_key,
    c.client,
    c.skill_id,
    c.task_id,
    c.error_text_class,
    c.error_code,
    CASE
        WHEN c.error_text_class = 'unknown-skill' THEN 'skill'
        WHEN c.error_text_class = 'unsupported-mode' OR c.error_reason = 'CONTENT_TYPE_NOT_SUPPORTED' THEN 'mode'
        WHEN c.error_reason = 'PUSH_NOTIFICATION_NOT_SUPPORTED' THEN 'push'
        WHEN c.error_reason = 'STREAMING_NOT_SUPPORTED' THEN 'streaming'
        WHEN c.error_reason = 'UNSUPPORTED_OPERATION' AND c.operation = 'SendStreamingMessage' THEN 'streaming'
        ELSE 'unsaid'
    END AS about,
    c.observed_at AS sent_at,
    coalesce(c.ended_at, c.observed_at) AS observed_at,
    c.fact_id
FROM calls AS c
WHERE c.outcome = 'capability' AND c.operation IN ('SendMessage', 'SendStreamingMessage')
