-- title  = "Tasks that may have been open when a look saw a new generation of their agent's card"
-- by     = ["agent", "task_id"]
-- params = { silence = "1 hour", pause = "7 days", flap = "5 minutes", block = 64 }
-- marks  = { card_generations = { on = ["agent"] } }
--
-- One row a task and change, as in `task_crossings`, which knows the state at the change and leaves out what was abandoned. `is_recent`,
-- `is_within_pause`: somebody spoke of the task after the change, or so shortly before it. A change by which a generation returns that was shown less
-- than `flap` before is none. Changes are found by blocks of `block`, so that a card of many changes is not held against every task.

WITH changes AS (
    SELECT
        g.agent,
        g.tenant,
        g.principal,
        g.extended,
        g.viewer,
        g.valid_from,
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
        g.last_body_before,
        g.body_sha256,
        g.last_before_fact_id,
        g.fact_id,
        floor((row_number() OVER (PARTITION BY g.agent ORDER BY g.valid_from, g.fact_id) - 1) / ($block * 1.0)) AS block
    FROM card_generations AS g
    WHERE g.fact_before IS NOT NULL AND (g.shown_before_at IS NULL OR g.valid_from > g.shown_before_at + CAST($flap AS INTERVAL))
),

blocks AS (
    SELECT
        g.agent,
        g.block,
        min(g.valid_from) AS first_at,
        max(g.valid_from) AS last_at
    FROM changes AS g
    GROUP BY g.agent, g.block
),

waited AS (
    SELECT
        e.agent,
        e.task_id
    FROM task_events AS e
    WHERE e.origin <> 'local' AND e.state IN ('input-required', 'auth-required')
    GROUP BY e.agent, e.task_id
),

-- `until_at`: no later change can find the task open.
lives AS (
    SELECT
        t.agent,
        t.task_id,
        t.client,
        t.principal,
        t.skill_id,
        t.created_at,
        t.created_fact_id,
        t.last_at,
        t.ended_at,
        t.end_state,
        t.end_fact_id,
        CASE
            WHEN t.ended_at IS NOT NULL THEN t.ended_at
            WHEN w.task_id IS NOT NULL AND t.last_at + CAST($pause AS INTERVAL) > t.last_at + CAST($silence AS INTERVAL)
                THEN t.last_at + CAST($pause AS INTERVAL)
            ELSE t.last_at + CAST($silence AS INTERVAL)
        END AS until_at
    FROM task_lives AS t
    LEFT JOIN waited AS w ON t.agent = w.agent AND t.task_id = w.task_id
)

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
    g.fact_id AS after_fact_id,
    t.last_at >= g.valid_from - CAST($silence AS INTERVAL) AS is_recent,
    t.last_at >= g.valid_from - CAST($pause AS INTERVAL) AS is_within_pause
FROM lives AS t
INNER JOIN blocks AS b ON t.agent = b.agent AND t.created_at < b.last_at AND t.until_at >= b.first_at
INNER JOIN changes AS g
    ON
        t.agent = g.agent AND b.agent = g.agent AND b.block = g.block
        AND t.created_at < g.valid_from AND t.until_at >= g.valid_from
        AND (t.principal = '' OR g.principal = '' OR t.principal = g.principal)
WHERE t.ended_at IS NULL OR t.ended_at > g.valid_from
