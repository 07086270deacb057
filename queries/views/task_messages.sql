-- title = "Messages that name a task, and what the agent had said of it when they were sent"
-- by    = ["agent", "task_id", "call_key"]
--
-- `state_before` is the last state seen before the message, by status time; `end_*` the last end seen before it, null where none was. What only
-- a webhook heard counts by its status time.

WITH named AS (
    SELECT
        c.agent,
        c.task_id,
        c.call_key,
        c.client,
        c.principal,
        c.outcome,
        c.error_text_class,
        c.reply_kind,
        c.skill_id,
        c.observed_at,
        c.ended_at,
        c.fact_id
    FROM calls AS c
    WHERE
        c.task_id <> ''
        -- A refusal makes no task, so that the one it is about was named by the caller, where only a span tells of it.
        AND (c.request_task_id = c.task_id OR c.outcome NOT IN ('ok', 'agent-error', 'transport'))
        AND c.operation IN ('SendMessage', 'SendStreamingMessage')
),

before AS (
    SELECT
        n.agent,
        n.task_id,
        n.call_key,
        e.state,
        e.state IN ('completed', 'failed', 'canceled', 'rejected') AS is_end,
        e.status_at,
        e.fact_id,
        row_number() OVER (
            PARTITION BY n.agent, n.task_id, n.call_key
            ORDER BY
                coalesce(e.status_at, e.observed_at) DESC NULLS LAST, e.observed_at DESC NULLS LAST, e.ordinal DESC NULLS LAST, e.fact_id
        ) AS nth_last,
        row_number() OVER (
            PARTITION BY n.agent, n.task_id, n.call_key, e.state IN ('completed', 'failed', 'canceled', 'rejected')
            ORDER BY coalesce(e.status_at, e.observed_at) DESC NULLS LAST, e.observed_at DESC NULLS LAST, e.fact_id
        ) AS nth_last_of_kind
    FROM named AS n
    INNER JOIN task_events AS e ON n.agent = e.agent AND n.task_id = e.task_id AND n.observed_at >= e.observed_at
    WHERE
        e.origin <> 'local' AND e.state <> 'unknown'
        -- When a webhook heard of it is by its own clock; when it was so, by the agent's.
        AND (e.origin <> 'push' OR e.observer <> 'receiver' OR n.observed_at >= e.status_at)
)

SELECT
    n.agent,
    n.task_id,
    n.call_key,
    n.client,
    n.principal,
    n.outcome,
    n.error_text_class,
    n.reply_kind,
    n.skill_id,
    n.observed_at,
    n.ended_at AS answered_at,
    n.fact_id,
    coalesce(b.state, '') AS state_before,
    b.status_at AS status_before_at,
    coalesce(b.fact_id, '') AS state_before_fact_id,
    coalesce(e.state, '') AS end_state,
    e.status_at AS end_status_at,
    coalesce(e.fact_id, '') AS end_fact_id
FROM named AS n
LEFT JOIN before AS b ON n.agent = b.agent AND n.task_id = b.task_id AND n.call_key = b.call_key AND b.nth_last = 1
LEFT JOIN before AS e
    ON n.agent = e.agent AND n.task_id = e.task_id AND n.call_key = e.call_key AND e.is_end AND e.nth_last_of_kind = 1
