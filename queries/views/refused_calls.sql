-- title = "Messages that the agent refused outright for lack of a capability"
-- by    = ["agent", "call_key"]

SELECT
    c.agent,
    c.call_key,
    c.client,
    c.skill_id,
    c.task_id,
    c.error_text_class,
    c.error_code,
    c.observed_at AS sent_at,
    coalesce(c.ended_at, c.observed_at) AS observed_at,
    c.fact_id
FROM calls AS c
WHERE c.outcome = 'capability' AND c.operation IN ('SendMessage', 'SendStreamingMessage')
