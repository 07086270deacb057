-- title = "Tasks that were open when a look saw a new generation of their agent's card"
-- by    = ["agent", "task_id"]
--
-- One row a task and change. The card before is `*_before`, the one after has no suffix; `changed_at` is the first look that shows the new one,
-- `valid_to` the first look that shows the one after that. Changes of another principal's card do not concern a task,
-- nor does the return of a generation that was shown less than `flap` before: where two views of a card flicker, only the first change counts. `state` is what was
-- known of the task at the change. A task without an end that nobody spoke of for `silence` before the change (`pause` while it
-- waits for input), nor after it, is abandoned rather than open. `uses_streaming`, `uses_push`: until the change, by calls and deliveries.

WITH open AS (
    SELECT
        c.agent,
        c.task_id
    FROM task_changes AS c
    GROUP BY c.agent, c.task_id
),

-- Statements of the agent, numbered such that of any of them the last has the highest number.
told AS (
    SELECT
        e.agent,
        e.task_id,
        e.state,
        e.observed_at,
        e.fact_id,
        row_number() OVER (
            PARTITION BY e.agent, e.task_id
            ORDER BY coalesce(e.status_at, e.observed_at) NULLS FIRST, e.observed_at, e.ordinal NULLS FIRST, e.fact_id DESC NULLS LAST
        ) AS number
    FROM task_events AS e
    INNER JOIN open AS o ON e.agent = o.agent AND e.task_id = o.task_id
    WHERE e.origin <> 'local'
),

-- What a task does and what changes meanwhile, in one order.
moments AS (
    SELECT
        t.agent,
        t.task_id,
        t.observed_at AS at,
        0 AS is_change,
        t.fact_id,
        t.number,
        0 AS streams,
        CAST(NULL AS TIMESTAMP) AS registered_at,
        CAST(NULL AS TIMESTAMP) AS removed_at,
        CAST(NULL AS TIMESTAMP) AS delivered_at
    FROM told AS t
    UNION ALL
    SELECT
        k.agent,
        k.task_id,
        k.observed_at AS at,
        0 AS is_change,
        k.fact_id,
        0 AS number,
        CASE WHEN k.operation IN ('SendStreamingMessage', 'SubscribeToTask') THEN 1 ELSE 0 END AS streams,
        CASE WHEN k.push_url <> '' AND k.operation <> 'DeleteTaskPushNotificationConfig' THEN k.observed_at END AS registered_at,
        CASE WHEN k.operation = 'DeleteTaskPushNotificationConfig' THEN k.observed_at END AS removed_at,
        CAST(NULL AS TIMESTAMP) AS delivered_at
    FROM calls AS k
    INNER JOIN open AS o ON k.agent = o.agent AND k.task_id = o.task_id
    WHERE k.outcome = 'ok'
    UNION ALL
    SELECT
        p.agent,
        p.task_id,
        p.observed_at AS at,
        0 AS is_change,
        p.fact_id,
        0 AS number,
        0 AS streams,
        CAST(NULL AS TIMESTAMP) AS registered_at,
        CAST(NULL AS TIMESTAMP) AS removed_at,
        p.observed_at AS delivered_at
    FROM push_deliveries AS p
    INNER JOIN open AS o ON p.agent = o.agent AND p.task_id = o.task_id
    UNION ALL
    SELECT
        c.agent,
        c.task_id,
        c.changed_at AS at,
        1 AS is_change,
        c.after_fact_id AS fact_id,
        0 AS number,
        0 AS streams,
        CAST(NULL AS TIMESTAMP) AS registered_at,
        CAST(NULL AS TIMESTAMP) AS removed_at,
        CAST(NULL AS TIMESTAMP) AS delivered_at
    FROM task_changes AS c
),

so_far AS (
    SELECT
        m.agent,
        m.task_id,
        m.fact_id,
        m.is_change,
        max(m.number) OVER (
            PARTITION BY m.agent, m.task_id ORDER BY m.at, m.is_change, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS number,
        max(m.streams) OVER (
            PARTITION BY m.agent, m.task_id ORDER BY m.at, m.is_change, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS streams,
        max(m.registered_at) OVER (
            PARTITION BY m.agent, m.task_id ORDER BY m.at, m.is_change, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS registered_at,
        max(m.removed_at) OVER (
            PARTITION BY m.agent, m.task_id ORDER BY m.at, m.is_change, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS removed_at,
        max(m.delivered_at) OVER (
            PARTITION BY m.agent, m.task_id ORDER BY m.at, m.is_change, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS delivered_at
    FROM moments AS m
)

SELECT
    c.agent,
    c.task_id,
    c.client,
    c.skill_id,
    c.created_at,
    c.created_fact_id,
    coalesce(t.state, '') AS state,
    coalesce(t.fact_id, c.created_fact_id) AS state_fact_id,
    c.last_at,
    c.ended_at,
    c.end_state,
    c.end_fact_id,
    c.tenant,
    c.principal,
    c.extended,
    c.viewer,
    c.changed_at,
    c.valid_to,
    c.version_before,
    c.version,
    c.contract_before,
    c.contract_sha256,
    c.security_before,
    c.security_sha256,
    c.streaming_before,
    c.streaming,
    c.push_before,
    c.push_notifications,
    c.body_before,
    c.body_sha256,
    c.before_fact_id,
    c.after_fact_id,
    s.streams = 1 AS uses_streaming,
    coalesce(
        s.registered_at > s.removed_at OR (s.registered_at IS NOT NULL AND s.removed_at IS NULL)
        OR (s.delivered_at IS NOT NULL AND (s.removed_at IS NULL OR s.delivered_at > s.removed_at)),
        FALSE
    ) AS uses_push
FROM task_changes AS c
INNER JOIN so_far AS s ON c.agent = s.agent AND c.task_id = s.task_id AND c.after_fact_id = s.fact_id AND s.is_change = 1
LEFT JOIN told AS t ON s.agent = t.agent AND s.task_id = t.task_id AND s.number = t.number
WHERE
    c.is_recent OR (coalesce(t.state, '') IN ('input-required', 'auth-required') AND c.is_within_pause)
    OR (c.ended_at IS NOT NULL AND c.ended_at > c.changed_at)
