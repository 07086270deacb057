-- title    = "A paused task went on although its skill is no longer offered as it was"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.state", "exchanges.request_task_id", "exchanges.task_id", "exchanges.operation", "exchanges.outcome"]
-- summary  = "{task_id} of {skill_id} was resumed on {agent} after {change}, and {went_on}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "Check whether {client} may still use {skill_id}; if not, undo what {task_id} did since it was resumed"
-- marks    = { card_generations = { on = ["agent"] }, policy_changes = { on = ["agent"] } }
--
-- ## What it finds
-- A task that waited for input or for a sign-in, was resumed after the security of its skill had changed or the skill had gone since the task was made, and
-- then completed or delivered an artifact.
-- ## Why it matters
-- The right to use a skill was checked when the task began and not when it went on. A paused task is a way around a right that was taken away.
-- ## First checks
-- 1. Compare the skill's security in the two cards of the evidence, and the change in `policy_changes`.
-- 2. Look at the credentials of the resuming message: a new sign-in after the change may satisfy the new rule.
-- 3. List other tasks of the agent that wait since before the change.
-- ## When it is wrong
-- When the agent checks the new rule at the resume, and the caller satisfies it.
-- ## What it cannot see
-- Changes that no card and no own event shows.

WITH pauses AS (
    SELECT
        e.agent,
        e.task_id,
        e.observed_at,
        e.fact_id,
        row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS nth
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.origin <> 'local' AND e.state IN ('input-required', 'auth-required')
),

paused AS (
    SELECT
        p.agent,
        p.task_id,
        p.observed_at AS paused_at,
        p.fact_id AS paused_fact_id
    FROM pauses AS p
    WHERE p.nth = 1
),

resumed AS (
    SELECT
        p.agent,
        p.task_id,
        p.paused_fact_id,
        m.observed_at AS resumed_at,
        m.fact_id AS resumed_fact_id,
        t.client,
        t.principal,
        t.skill_id,
        t.created_at,
        t.created_fact_id
    FROM paused AS p
    INNER JOIN task_messages AS m ON p.agent = m.agent AND p.task_id = m.task_id
    INNER JOIN tasks AS t ON p.agent = t.agent AND p.task_id = t.task_id
    WHERE m.outcome = 'ok' AND m.observed_at >= p.paused_at
),

ended AS (
    SELECT
        e.agent,
        e.task_id,
        e.state,
        e.reason_class,
        e.observed_at,
        e.fact_id
    FROM task_events AS e
    INNER JOIN paused AS p ON e.agent = p.agent AND e.task_id = p.task_id
    WHERE e.origin <> 'local' AND e.state IN ('completed', 'failed', 'rejected')
),

yielded AS (
    SELECT
        a.agent,
        a.task_id,
        a.artifact_id,
        min(a.observed_at) AS yielded_at,
        min(a.fact_id) AS fact_id
    FROM artifact_parts AS a
    INNER JOIN paused AS p ON a.agent = p.agent AND a.task_id = p.task_id
    WHERE a.action = 'received'
    GROUP BY a.agent, a.task_id, a.artifact_id
),

went_on AS (
    SELECT
        r.agent,
        r.task_id,
        r.resumed_fact_id,
        'completed' AS outcome,
        min(e.fact_id) AS outcome_fact_id
    FROM resumed AS r
    INNER JOIN ended AS e ON r.agent = e.agent AND r.task_id = e.task_id AND r.resumed_at <= e.observed_at
    WHERE e.state = 'completed'
    GROUP BY r.agent, r.task_id, r.resumed_fact_id
    UNION ALL
    SELECT
        r.agent,
        r.task_id,
        r.resumed_fact_id,
        'delivered an artifact' AS outcome,
        min(y.fact_id) AS outcome_fact_id
    FROM resumed AS r
    INNER JOIN yielded AS y ON r.agent = y.agent AND r.task_id = y.task_id AND r.resumed_at <= y.yielded_at
    WHERE
        NOT EXISTS (
            SELECT 1 FROM ended AS e
            WHERE
                e.agent = r.agent AND e.task_id = r.task_id
                AND (e.state = 'completed' OR e.reason_class IN ('policy-changed', 'auth'))
        )
    GROUP BY r.agent, r.task_id, r.resumed_fact_id
),

cards_compared AS (
    SELECT
        r.agent,
        r.task_id,
        r.resumed_fact_id,
        r.skill_id,
        o.body_sha256 AS body_before,
        n.body_sha256 AS body_after,
        o.security_sha256 <> n.security_sha256 AS is_secured_anew,
        o.fact_id AS card_before_fact_id,
        n.fact_id AS card_after_fact_id
    FROM resumed AS r
    INNER JOIN card_generations AS o
        ON r.agent = o.agent AND r.created_at >= o.valid_from AND (o.valid_to IS NULL OR r.created_at < o.valid_to)
    INNER JOIN card_generations AS n
        ON
            o.agent = n.agent AND o.tenant = n.tenant AND o.principal = n.principal AND o.extended = n.extended AND o.viewer = n.viewer
            AND r.resumed_at >= n.valid_from AND (n.valid_to IS NULL OR r.resumed_at < n.valid_to)
    WHERE o.generation <> n.generation AND (r.principal = '' OR o.principal = '' OR r.principal = o.principal)
),

skills_compared AS (
    SELECT
        c.agent,
        c.task_id,
        c.resumed_fact_id,
        c.card_after_fact_id,
        c.card_before_fact_id,
        o.skill_id,
        o.skill_id = c.skill_id AS is_own,
        n.skill_id IS NULL AS is_gone,
        coalesce(n.security_sha256 <> o.security_sha256, FALSE) AS is_changed
    FROM cards_compared AS c
    INNER JOIN card_skills AS o ON c.body_before = o.body_sha256
    LEFT JOIN card_skills AS n ON c.body_after = n.body_sha256 AND o.skill_id = n.skill_id
),

added AS (
    SELECT
        c.agent,
        c.task_id,
        c.resumed_fact_id,
        c.card_after_fact_id
    FROM cards_compared AS c
    INNER JOIN card_skills AS n ON c.body_after = n.body_sha256
    WHERE NOT EXISTS (SELECT 1 FROM card_skills AS o WHERE o.body_sha256 = c.body_before AND o.skill_id = n.skill_id)
    GROUP BY c.agent, c.task_id, c.resumed_fact_id, c.card_after_fact_id
),

skills_judged AS (
    SELECT
        s.agent,
        s.task_id,
        s.resumed_fact_id,
        s.card_after_fact_id,
        bool_or(s.is_own AND s.is_gone) AS is_gone,
        bool_or(s.is_own AND s.is_changed) AS is_changed,
        bool_or(s.is_gone OR s.is_changed) AS is_any_touched,
        min(CASE WHEN s.is_changed THEN 1 ELSE 0 END) AS are_all_changed
    FROM skills_compared AS s
    GROUP BY s.agent, s.task_id, s.resumed_fact_id, s.card_after_fact_id
),

card_changes AS (
    SELECT
        c.agent,
        c.task_id,
        c.resumed_fact_id,
        CASE
            WHEN j.is_gone THEN 'the skill had left the card'
            WHEN j.is_changed THEN 'the skill''s security had changed'
            ELSE 'the card''s security had changed'
        END AS change,
        c.skill_id <> '' AS is_certain,
        c.card_before_fact_id,
        c.card_after_fact_id,
        '' AS policy_fact_id
    FROM cards_compared AS c
    LEFT JOIN skills_judged AS j
        ON
            c.agent = j.agent AND c.task_id = j.task_id AND c.resumed_fact_id = j.resumed_fact_id
            AND c.card_after_fact_id = j.card_after_fact_id
    LEFT JOIN added AS a
        ON
            c.agent = a.agent AND c.task_id = a.task_id AND c.resumed_fact_id = a.resumed_fact_id
            AND c.card_after_fact_id = a.card_after_fact_id
    WHERE
        coalesce(j.is_gone, FALSE) OR coalesce(j.is_changed, FALSE)
        OR (c.skill_id = '' AND coalesce(j.are_all_changed, 0) = 1)
        -- No skill came, went or changed, so that what changed is what the card asks for all of them.
        OR (c.is_secured_anew AND NOT coalesce(j.is_any_touched, FALSE) AND a.task_id IS NULL)
),

told_changes AS (
    SELECT
        r.agent,
        r.task_id,
        r.resumed_fact_id,
        concat('its use was ', p.change) AS change,
        r.skill_id <> '' AND p.skill_id <> '' AS is_certain,
        '' AS card_before_fact_id,
        '' AS card_after_fact_id,
        p.fact_id AS policy_fact_id
    FROM resumed AS r
    INNER JOIN policy_changes AS p ON r.agent = p.agent AND r.created_at < p.observed_at AND r.resumed_at >= p.observed_at
    WHERE p.change <> 'granted' AND (p.skill_id = r.skill_id OR p.skill_id = '' OR r.skill_id = '')
),

changes AS (
    SELECT
        c.agent,
        c.task_id,
        c.resumed_fact_id,
        c.change,
        c.is_certain,
        c.card_before_fact_id,
        c.card_after_fact_id,
        c.policy_fact_id
    FROM card_changes AS c
    UNION ALL
    SELECT
        t.agent,
        t.task_id,
        t.resumed_fact_id,
        t.change,
        t.is_certain,
        t.card_before_fact_id,
        t.card_after_fact_id,
        t.policy_fact_id
    FROM told_changes AS t
),

ranked AS (
    SELECT
        r.agent,
        r.task_id,
        r.client,
        r.skill_id,
        r.resumed_at,
        r.created_fact_id,
        r.paused_fact_id,
        r.resumed_fact_id,
        c.change,
        c.is_certain,
        c.card_before_fact_id,
        c.card_after_fact_id,
        c.policy_fact_id,
        w.outcome,
        w.outcome_fact_id,
        row_number() OVER (
            PARTITION BY r.agent, r.task_id
            ORDER BY
                CASE WHEN c.is_certain THEN 0 ELSE 1 END, r.resumed_at, c.policy_fact_id, c.card_after_fact_id, w.outcome, w.outcome_fact_id
        ) AS nth
    FROM resumed AS r
    INNER JOIN changes AS c ON r.agent = c.agent AND r.task_id = c.task_id AND r.resumed_fact_id = c.resumed_fact_id
    INNER JOIN went_on AS w ON r.agent = w.agent AND r.task_id = w.task_id AND r.resumed_fact_id = w.resumed_fact_id
)

SELECT
    k.agent,
    k.task_id,
    k.client,
    k.skill_id,
    k.change,
    k.outcome AS went_on,
    CASE
        WHEN k.is_certain THEN 'the change was there before the message that resumed the task'
        ELSE 'the change was there before the resume; the task names no skill, so that it may be another''s'
    END AS why,
    CASE WHEN k.is_certain THEN 'confirmed' ELSE 'likely' END AS confidence,
    k.resumed_at AS observed_at,
    k.created_fact_id,
    k.paused_fact_id,
    k.card_before_fact_id,
    k.card_after_fact_id,
    k.policy_fact_id,
    k.resumed_fact_id,
    k.outcome_fact_id
FROM ranked AS k
WHERE k.nth = 1
