-- title    = "A long task outlives the card generation it was made under"
-- severity = "info"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["cards.contract_sha256", "task_events.state or exchanges.push_url"]
-- summary  = "{what} {task_id} on {agent} is from before the card changed{how}"
-- suspect  = "operator"
-- because  = "it was made before the change, and was still in use when it was old"
-- next     = "When {task_id} behaves oddly, compare with the card of its making, not with today's"
-- params   = { old = "1 hour" }
-- marks    = { card_generations = { on = ["agent"] } }
-- lasts    = true
--
-- ## What it finds
-- A task, or the push config of one, that is older than an hour and still in use after its agent's card has changed version, contract or security.
-- ## Why it matters
-- Nothing is wrong yet. What the caller agreed to when it made the task is no longer what the agent says today, and neither side is told.
-- ## First checks
-- 1. Compare the two cards of the evidence: does the change touch the task's skill, its modes or its security?
-- 2. Watch the task's end for mode_mismatch, unknown_skill or a lost task in the hour after a deployment.
-- ## When it is wrong
-- When an agent pins long tasks to the release that began them.
-- ## What it cannot see
-- Generations that nobody looked at.

WITH crossed AS (
    SELECT
        c.agent,
        c.task_id,
        c.client,
        c.skill_id,
        'Task' AS what,
        c.created_at,
        c.created_fact_id,
        c.ended_at,
        c.changed_at,
        c.version_before,
        c.version,
        c.before_fact_id,
        c.after_fact_id
    FROM task_crossings AS c
),

configs AS (
    SELECT
        k.agent,
        k.task_id,
        k.client,
        k.skill_id,
        k.observed_at AS made_at,
        k.fact_id,
        row_number() OVER (PARTITION BY k.agent, k.task_id ORDER BY k.observed_at, k.fact_id) AS nth
    FROM calls AS k
    WHERE
        k.task_id <> '' AND k.push_url <> '' AND k.outcome = 'ok'
        AND k.operation IN ('SendMessage', 'SendStreamingMessage', 'CreateTaskPushNotificationConfig')
),

used AS (
    SELECT
        p.agent,
        p.task_id,
        max(p.observed_at) AS used_at
    FROM push_deliveries AS p
    WHERE p.task_id <> ''
    GROUP BY p.agent, p.task_id
),

pushed AS (
    SELECT
        c.agent,
        c.task_id,
        c.client,
        c.skill_id,
        'The push config of' AS what,
        c.made_at AS created_at,
        c.fact_id AS created_fact_id,
        u.used_at AS ended_at,
        g.valid_from AS changed_at,
        g.version_before,
        g.version,
        g.last_before_fact_id AS before_fact_id,
        g.fact_id AS after_fact_id
    FROM configs AS c
    INNER JOIN used AS u ON c.agent = u.agent AND c.task_id = u.task_id
    INNER JOIN card_generations AS g
        ON c.agent = g.agent AND c.made_at < g.valid_from AND u.used_at > g.valid_from AND g.fact_before IS NOT NULL
    WHERE c.nth = 1
),

aged AS (
    SELECT
        x.agent,
        x.task_id,
        x.client,
        x.skill_id,
        x.what,
        x.version_before,
        x.version,
        x.ended_at,
        x.created_fact_id,
        x.before_fact_id,
        x.after_fact_id,
        x.changed_at,
        CASE
            WHEN x.changed_at > x.created_at + CAST($old AS INTERVAL) THEN x.changed_at
            ELSE x.created_at + CAST($old AS INTERVAL)
        END AS old_at
    FROM (
        SELECT
            c.agent,
            c.task_id,
            c.client,
            c.skill_id,
            c.what,
            c.created_at,
            c.created_fact_id,
            c.ended_at,
            c.changed_at,
            c.version_before,
            c.version,
            c.before_fact_id,
            c.after_fact_id
        FROM crossed AS c
        UNION ALL
        SELECT
            p.agent,
            p.task_id,
            p.client,
            p.skill_id,
            p.what,
            p.created_at,
            p.created_fact_id,
            p.ended_at,
            p.changed_at,
            p.version_before,
            p.version,
            p.before_fact_id,
            p.after_fact_id
        FROM pushed AS p
    ) AS x
),

ranked AS (
    SELECT
        a.agent,
        a.task_id,
        a.client,
        a.skill_id,
        a.what,
        a.version_before,
        a.version,
        a.old_at,
        a.ended_at,
        a.changed_at,
        a.created_fact_id,
        a.before_fact_id,
        a.after_fact_id,
        row_number() OVER (
            PARTITION BY a.agent, a.task_id ORDER BY a.old_at, CASE a.what WHEN 'Task' THEN 0 ELSE 1 END, a.changed_at, a.after_fact_id
        ) AS nth
    FROM aged AS a
    WHERE a.ended_at IS NULL OR a.ended_at > a.old_at
)

SELECT
    r.agent,
    r.task_id,
    r.client,
    r.skill_id,
    r.what,
    r.version_before,
    r.version,
    CASE WHEN r.version = r.version_before THEN concat(' under version ', r.version) ELSE concat(' to version ', r.version) END AS how,
    'confirmed' AS confidence,
    r.changed_at AS observed_at,
    r.old_at AS due_at,
    -- Who goes on to use a push config of an ended task is told by deliveries alone: their end says nothing.
    CASE WHEN r.what = 'Task' THEN r.ended_at END AS over_at,
    r.created_fact_id,
    r.before_fact_id AS card_before_fact_id,
    r.after_fact_id AS card_after_fact_id
FROM ranked AS r
WHERE r.nth = 1 AND NOT EXISTS (SELECT 1 FROM lost_tasks AS l WHERE l.agent = r.agent AND l.task_id = r.task_id)
