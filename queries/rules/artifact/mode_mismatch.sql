-- title    = "A completed task delivered an artifact of a type that its skill does not promise"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id", "artifact_id"]
-- needs    = ["artifact_parts.media_type[media_type_from=declared]", "card_skills.output_modes"]
-- summary  = "{task_id} delivered {artifact_id} as {media_type}; skill {skill_id} promises {promised}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "Check what {agent} promises for {skill_id} today, and stop the consumer of {artifact_id} from parsing {media_type} as {promised}"
--
-- ## What it finds
-- A declared media type of an artifact part that is outside the effective output modes of the task's skill in the card the caller acted on
-- (record 000, variant B). Inside them but outside what the request accepts is a warning. Without a named skill, or with a type inferred from the kind of
-- part, it is a hint.
-- ## Why it matters
-- The task succeeded, so nothing else shows; the consumer parses the wrong format and corrupts what it stores.
-- ## First checks
-- 1. Compare the skill's output modes in the card held at the call with those of the latest look.
-- 2. Changed: the skill id was reused for another capability; see skill_modes_redefined.
-- 3. Not changed: the runtime breaks its own card.
-- ## When it is wrong
-- When a task mixes skills and names only one.
-- ## What it cannot see
-- Types of 0.x text parts, which have none; parts without a type.

WITH completed AS (
    SELECT
        e.agent,
        e.task_id
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.state = 'completed' AND e.origin <> 'local'
    GROUP BY e.agent, e.task_id
),

parts AS (
    SELECT
        p.agent,
        p.task_id,
        p.artifact_id,
        p.media_type,
        p.media_type_from,
        split_part(p.media_type, '/', 1) AS family,
        min(p.observed_at) AS delivered_at,
        min(p.fact_id) AS part_fact_id
    FROM artifact_parts AS p
    INNER JOIN completed AS c ON p.agent = c.agent AND p.task_id = c.task_id
    WHERE p.media_type <> '' AND p.action = 'received'
    GROUP BY p.agent, p.task_id, p.artifact_id, p.media_type, p.media_type_from
),

acted AS (
    SELECT
        t.agent,
        t.task_id,
        t.client,
        t.skill_id,
        c.basis,
        c.negotiated_basis,
        c.held_fact_id,
        c.negotiated_fact_id,
        c.basic_body,
        c.extended_body,
        c.negotiated_body
    FROM tasks AS t
    INNER JOIN send_cards AS c
        ON
            t.agent = c.agent AND t.task_id = c.task_id
            AND c.call_key = CASE WHEN t.skill_call_key <> '' AND t.skill_id <> '' THEN t.skill_call_key ELSE t.call_key END
),

bodies AS (
    SELECT a.agent, a.task_id, a.basic_body AS body_sha256, a.skill_id, FALSE AS is_earlier FROM acted AS a
    UNION ALL
    SELECT a.agent, a.task_id, a.extended_body AS body_sha256, a.skill_id, FALSE AS is_earlier FROM acted AS a
    UNION ALL
    SELECT a.agent, a.task_id, a.negotiated_body AS body_sha256, a.skill_id, TRUE AS is_earlier FROM acted AS a
),

promises AS (
    SELECT
        b.agent,
        b.task_id,
        m.mode,
        split_part(m.mode, '/', 1) AS family,
        bool_or(m.skill_id = b.skill_id) AS is_named
    FROM bodies AS b
    INNER JOIN card_modes AS m ON b.body_sha256 = m.body_sha256
    WHERE b.body_sha256 <> '' AND (b.skill_id = '' OR m.skill_id = b.skill_id)
    GROUP BY b.agent, b.task_id, m.mode
),

promised AS (
    SELECT
        p.agent,
        p.task_id,
        string_agg(p.mode, ', ' ORDER BY p.mode) AS modes
    FROM promises AS p
    GROUP BY p.agent, p.task_id
),

outside AS (
    SELECT
        d.agent,
        d.task_id,
        d.artifact_id,
        min(d.media_type) AS media_type,
        bool_or(d.media_type_from = 'declared') AS is_declared,
        min(d.delivered_at) AS delivered_at,
        min(d.part_fact_id) AS part_fact_id
    FROM parts AS d
    WHERE NOT EXISTS (
        SELECT 1 FROM promises AS p
        WHERE
            p.agent = d.agent AND p.task_id = d.task_id
            AND (
                p.mode = d.media_type OR p.mode IN ('*/*', '*')
                OR (p.mode = concat(p.family, '/*') AND p.family = d.family)
                OR (p.mode = 'text' AND d.family = 'text')
                OR (p.mode = 'data' AND d.media_type = 'application/json')
                OR p.mode = 'file'
            )
    )
    GROUP BY d.agent, d.task_id, d.artifact_id
)

SELECT
    o.agent,
    o.task_id,
    o.artifact_id,
    a.client,
    a.skill_id,
    o.media_type,
    m.modes AS promised,
    CASE WHEN a.skill_id <> '' AND o.is_declared THEN 'critical' ELSE 'info' END AS severity,
    CASE
        WHEN a.skill_id = '' OR NOT o.is_declared THEN 'possible'
        WHEN a.negotiated_basis = 'client' AND a.basis = 'client' AND a.negotiated_body = '' AND a.client <> '' THEN 'confirmed'
        ELSE 'likely'
    END AS confidence,
    CASE
        WHEN a.skill_id = '' THEN 'no skill is named, so all modes of the card were compared'
        WHEN a.negotiated_body <> '' THEN 'the last card that lists the skill promises another type'
        ELSE 'the card that the caller held promises another type'
    END AS why,
    o.delivered_at AS observed_at,
    o.part_fact_id,
    CASE WHEN a.negotiated_body <> '' THEN a.negotiated_fact_id ELSE a.held_fact_id END AS card_fact_id
FROM outside AS o
INNER JOIN acted AS a ON o.agent = a.agent AND o.task_id = a.task_id
INNER JOIN promised AS m ON o.agent = m.agent AND o.task_id = m.task_id
