-- title  = "Tasks that were open when a look saw a new generation of their agent's card"
-- by     = ["agent", "task_id"]
-- params = { silence = "1 hour", pause = "7 days", flap = "5 minutes" }
-- marks  = { card_generations = { on = ["agent"] } }
--
-- One row a task and change. The card before is `*_before`, the one after has no suffix; `changed_at` is the first look that shows the new one,
-- `valid_to` the first look that shows the one after that. Changes of another principal's card do not concern a task,
-- nor does the return of a generation that was shown less than `flap` before: where two views of a card flicker, only the first change counts. `state` is what was
-- known of the task at the change. A task without an end that nobody spoke of for `silence` before the change (`pause` while it
-- waits for input), nor after it, is abandoned rather than open. `uses_streaming`, `uses_push`: until the change, by calls and deliveries.

WITH crossed AS (
    SELECT
        t.agent,
        t.task_id,
        t.client,
        t.skill_id,
        t.created_at,
        t.created_fact_id,
        t.last_at,
        t.ended_at,
        t.end_state,
        t.end_fact_id,
        g.tenant,
        g.principal,
        g.extended,
        g.viewer,
        g.valid_from AS changed_at,
        g.valid_to,
        g.version_before,
        g.version,
        g.contract_before,
        g.contract_sha256,
        g.security_before,
        g.security_sha256,
        g.streaming_before,
        g.streaming,
        g.push_before,
        g.push_notifications,
        g.last_body_before AS body_before,
        g.body_sha256,
        g.last_before_fact_id AS before_fact_id,
        g.fact_id AS after_fact_id
    FROM task_lives AS t
    INNER JOIN card_generations AS g
        ON
            t.agent = g.agent AND t.created_at < g.valid_from
            AND (t.principal = '' OR g.principal = '' OR t.principal = g.principal)
    WHERE
        g.fact_before IS NOT NULL AND (g.shown_before_at IS NULL OR g.valid_from > g.shown_before_at + CAST($flap AS INTERVAL))
        AND (t.ended_at IS NULL OR t.ended_at > g.valid_from)
),

told AS (
    SELECT
        c.agent,
        c.task_id,
        c.after_fact_id,
        e.state,
        e.fact_id AS state_fact_id,
        row_number() OVER (
            PARTITION BY c.agent, c.task_id, c.after_fact_id
            ORDER BY
                coalesce(e.status_at, e.observed_at) DESC NULLS LAST, e.observed_at DESC NULLS LAST, e.ordinal DESC NULLS LAST, e.fact_id
        ) AS nth_last
    FROM crossed AS c
    INNER JOIN task_events AS e ON c.agent = e.agent AND c.task_id = e.task_id AND e.observed_at <= c.changed_at
    WHERE e.origin <> 'local'
),

called AS (
    SELECT
        c.agent,
        c.task_id,
        c.after_fact_id,
        bool_or(k.operation IN ('SendStreamingMessage', 'SubscribeToTask')) AS uses_streaming,
        max(CASE WHEN k.push_url <> '' AND k.operation <> 'DeleteTaskPushNotificationConfig' THEN k.observed_at END) AS registered_at,
        max(CASE WHEN k.operation = 'DeleteTaskPushNotificationConfig' THEN k.observed_at END) AS removed_at
    FROM crossed AS c
    INNER JOIN calls AS k ON c.agent = k.agent AND c.task_id = k.task_id AND k.observed_at <= c.changed_at
    WHERE k.outcome = 'ok'
    GROUP BY c.agent, c.task_id, c.after_fact_id
),

pushed AS (
    SELECT
        c.agent,
        c.task_id,
        c.after_fact_id,
        max(p.observed_at) AS delivered_at
    FROM crossed AS c
    INNER JOIN push_deliveries AS p ON c.agent = p.agent AND c.task_id = p.task_id AND p.observed_at <= c.changed_at
    GROUP BY c.agent, c.task_id, c.after_fact_id
)

SELECT
    c.agent,
    c.task_id,
    c.client,
    c.skill_id,
    c.created_at,
    c.created_fact_id,
    coalesce(t.state, '') AS state,
    coalesce(t.state_fact_id, c.created_fact_id) AS state_fact_id,
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
    coalesce(k.uses_streaming, FALSE) AS uses_streaming,
    coalesce(
        k.registered_at > k.removed_at OR (k.registered_at IS NOT NULL AND k.removed_at IS NULL)
        OR (p.delivered_at IS NOT NULL AND (k.removed_at IS NULL OR p.delivered_at > k.removed_at)),
        FALSE
    ) AS uses_push
FROM crossed AS c
LEFT JOIN told AS t ON c.agent = t.agent AND c.task_id = t.task_id AND c.after_fact_id = t.after_fact_id AND t.nth_last = 1
LEFT JOIN called AS k ON c.agent = k.agent AND c.task_id = k.task_id AND c.after_fact_id = k.after_fact_id
LEFT JOIN pushed AS p ON c.agent = p.agent AND c.task_id = p.task_id AND c.after_fact_id = p.after_fact_id
WHERE
    c.last_at >= c.changed_at - CAST($silence AS INTERVAL)
    OR (coalesce(t.state, '') IN ('input-required', 'auth-required') AND c.last_at >= c.changed_at - CAST($pause AS INTERVAL))
    OR (c.ended_at IS NOT NULL AND c.ended_at > c.changed_at)
