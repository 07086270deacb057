-- title    = "A completed task delivered an artifact of a type that its skill does not promise"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id", "artifact_id"]
-- needs    = ["artifact_parts.media_type", "card_skills.output_modes", "exchanges.operation", "exchanges.outcome", "exchanges.task_id", "task_events.state"]
-- summary  = "{task_id} delivered {artifact_id} as {media_type}; {promiser} {promised}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "{advice}"
--
-- ## What it finds
-- A declared media type of an artifact part that is outside the effective output modes of the task's skill in the card the caller acted on, the basic one
-- or the extended one. Inside them but outside what the request accepts is a warning. Without a named skill, or with a type inferred from the kind of part,
-- it is a hint.
-- ## Why it matters
-- The task succeeded, so nothing else shows; the consumer parses the wrong format and corrupts what it stores.
-- ## First checks
-- 1. Compare the skill's output modes in the card held at the call with those of the latest look. An extended card is not at the well-known path: ask for
--    it with the caller's credentials (GetExtendedAgentCard).
-- 2. Changed: the skill id was reused for another capability; see skill_modes_redefined.
-- 3. Not changed: the runtime breaks its own card.
-- ## When it is wrong
-- When a task mixes skills and names only one.
-- ## What it cannot see
-- Types of 0.x text parts, which have none; parts without a type. A data part without a type is taken for JSON, and only where a skill is named.

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
        p.part_kind,
        p.media_type,
        p.media_type_from,
        split_part(p.media_type, '/', 1) AS family,
        min(p.observed_at) AS delivered_at,
        min(p.fact_id) AS fact_id
    FROM artifact_parts AS p
    INNER JOIN completed AS c ON p.agent = c.agent AND p.task_id = c.task_id
    WHERE p.media_type <> '' AND p.action = 'received' AND p.origin <> 'local'
    GROUP BY p.agent, p.task_id, p.artifact_id, p.part_kind, p.media_type, p.media_type_from
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
    SELECT
        a.agent,
        a.task_id,
        a.basic_body AS body_sha256,
        a.skill_id,
        FALSE AS is_extended
    FROM acted AS a
    UNION ALL
    SELECT
        a.agent,
        a.task_id,
        a.extended_body AS body_sha256,
        a.skill_id,
        TRUE AS is_extended
    FROM acted AS a
    UNION ALL
    SELECT
        a.agent,
        a.task_id,
        a.negotiated_body AS body_sha256,
        a.skill_id,
        FALSE AS is_extended
    FROM acted AS a
),

-- What was promised: the modes of the skill, or all modes of the card where no skill is named.
promises AS (
    SELECT
        b.agent,
        b.task_id,
        m.mode,
        bool_and(b.is_extended) AS is_extended
    FROM bodies AS b
    INNER JOIN card_modes AS m ON b.body_sha256 = m.body_sha256
    WHERE b.body_sha256 <> '' AND (b.skill_id = '' OR m.skill_id = b.skill_id)
    GROUP BY b.agent, b.task_id, m.mode
),

promised AS (
    SELECT
        p.agent,
        p.task_id,
        bool_and(p.is_extended) AS is_extended,
        string_agg(p.mode, ', ' ORDER BY p.mode) AS modes
    FROM promises AS p
    GROUP BY p.agent, p.task_id
),

-- What the request accepted: the last message of the task before the part was delivered.
sent AS (
    SELECT
        d.agent,
        d.task_id,
        d.fact_id,
        max(x.observed_at) AS sent_at
    FROM parts AS d
    INNER JOIN exchanges AS x ON d.agent = x.agent AND d.task_id = x.task_id AND d.delivered_at >= x.observed_at
    WHERE x.operation IN ('SendMessage', 'SendStreamingMessage') AND x.outcome IN ('ok', 'transport')
    GROUP BY d.agent, d.task_id, d.fact_id
),

accepted AS (
    SELECT
        s.agent,
        s.task_id,
        s.fact_id,
        x.fact_id AS request_fact_id,
        unnest(x.accepted_output_modes) AS mode
    FROM sent AS s
    INNER JOIN exchanges AS x ON s.agent = x.agent AND s.task_id = x.task_id AND s.sent_at = x.observed_at
    WHERE x.operation IN ('SendMessage', 'SendStreamingMessage') AND x.outcome IN ('ok', 'transport')
),

-- Both lists in one, so that a type is compared with either in the same way.
lists AS (
    SELECT
        d.agent,
        d.task_id,
        d.fact_id,
        'card' AS list,
        '' AS request_fact_id,
        p.mode
    FROM parts AS d
    INNER JOIN promises AS p ON d.agent = p.agent AND d.task_id = p.task_id
    UNION ALL
    SELECT
        a.agent,
        a.task_id,
        a.fact_id,
        'request' AS list,
        a.request_fact_id,
        a.mode
    FROM accepted AS a
    WHERE a.mode <> ''
),

outside AS (
    SELECT
        d.agent,
        d.task_id,
        d.artifact_id,
        d.media_type,
        d.media_type_from = 'declared' AS is_declared,
        d.delivered_at,
        d.fact_id,
        l.list,
        max(l.request_fact_id) AS request_fact_id,
        string_agg(l.mode, ', ' ORDER BY l.mode) AS modes
    FROM parts AS d
    INNER JOIN lists AS l ON d.agent = l.agent AND d.task_id = l.task_id AND d.fact_id = l.fact_id
    GROUP BY d.agent, d.task_id, d.artifact_id, d.media_type, d.media_type_from, d.delivered_at, d.fact_id, l.list
    HAVING NOT bool_or(
        l.mode = d.media_type OR l.mode IN ('*/*', '*')
        OR l.mode = concat(d.family, '/*')
        OR (l.mode = 'text' AND (d.part_kind = 'text' OR d.family = 'text'))
        OR (l.mode = 'data' AND (d.part_kind = 'data' OR d.media_type = 'application/json'))
        OR (l.mode = 'file' AND d.part_kind IN ('raw', 'url'))
        OR (d.media_type_from = 'inferred' AND l.mode ~ '[+/]json$')
    )
),

judged AS (
    SELECT
        o.agent,
        o.task_id,
        o.artifact_id,
        o.media_type,
        o.is_declared,
        o.modes,
        o.list,
        o.request_fact_id,
        o.delivered_at,
        o.fact_id,
        a.client,
        a.skill_id,
        a.basis,
        a.negotiated_basis,
        a.negotiated_body,
        m.is_extended,
        CASE WHEN a.negotiated_body <> '' THEN a.negotiated_fact_id ELSE a.held_fact_id END AS card_fact_id,
        CASE
            WHEN a.skill_id = '' OR NOT o.is_declared THEN 3
            WHEN o.list = 'card' THEN 1
            ELSE 2
        END AS weight
    FROM outside AS o
    INNER JOIN acted AS a ON o.agent = a.agent AND o.task_id = a.task_id
    INNER JOIN promised AS m ON o.agent = m.agent AND o.task_id = m.task_id
    WHERE (a.skill_id <> '' OR o.is_declared) AND (o.list = 'card' OR (a.skill_id <> '' AND o.is_declared))
),

ranked AS (
    SELECT
        j.agent,
        j.task_id,
        j.artifact_id,
        j.is_declared,
        j.modes,
        j.list,
        j.request_fact_id,
        j.fact_id,
        j.client,
        j.skill_id,
        j.basis,
        j.negotiated_basis,
        j.negotiated_body,
        j.is_extended,
        j.card_fact_id,
        j.weight,
        row_number() OVER (
            PARTITION BY j.agent, j.task_id, j.artifact_id ORDER BY j.weight, j.delivered_at, j.fact_id
        ) AS nth
    FROM judged AS j
),

types AS (
    SELECT
        t.agent,
        t.task_id,
        t.artifact_id,
        t.weight,
        string_agg(t.media_type, ', ' ORDER BY t.media_type) AS media_types,
        min(t.delivered_at) AS delivered_at
    FROM (
        SELECT
            j.agent,
            j.task_id,
            j.artifact_id,
            j.weight,
            j.media_type,
            min(j.delivered_at) AS delivered_at
        FROM judged AS j
        GROUP BY j.agent, j.task_id, j.artifact_id, j.weight, j.media_type
    ) AS t
    GROUP BY t.agent, t.task_id, t.artifact_id, t.weight
)

SELECT
    r.agent,
    r.task_id,
    r.artifact_id,
    r.client,
    r.skill_id,
    t.media_types AS media_type,
    r.modes AS promised,
    CASE
        WHEN r.list = 'request' THEN 'the request accepts'
        WHEN r.skill_id = '' THEN 'the card as a whole promises'
        ELSE concat('skill ', r.skill_id, ' promises')
    END AS promiser,
    CASE r.weight WHEN 1 THEN 'critical' WHEN 2 THEN 'warning' ELSE 'info' END AS severity,
    CASE
        WHEN r.weight = 3 THEN 'possible'
        WHEN
            r.weight = 1 AND r.negotiated_basis = 'client' AND r.basis = 'client' AND r.negotiated_body = '' AND r.client <> ''
            THEN 'confirmed'
        ELSE 'likely'
    END AS confidence,
    CASE
        WHEN r.list = 'request' THEN 'the skill may deliver it, and the request did not accept it'
        WHEN NOT r.is_declared THEN 'the part has no type and is taken for JSON by its kind'
        WHEN r.skill_id = '' AND r.is_extended THEN 'no skill is named, so all modes of the extended card were compared'
        WHEN r.skill_id = '' THEN 'no skill is named, so all modes of the card were compared'
        WHEN r.negotiated_body <> '' THEN 'the last card that lists the skill promises another type'
        WHEN r.is_extended THEN 'the extended card that the caller held, which is not the public one, promises another type'
        ELSE 'the card that the caller held promises another type'
    END AS why,
    CASE
        WHEN
            r.list = 'request'
            THEN
                concat('Have ', r.agent, ' honour acceptedOutputModes or refuse the call; check that the consumer can read ', t.media_types)
        WHEN r.skill_id = '' THEN concat('Find out which skill ', r.agent, ' used for ', r.task_id, ', and name the skill in the request')
        ELSE
            concat(
                'Compare what ',
                r.agent,
                ' promises for ',
                r.skill_id,
                ' today, and stop the consumer of ',
                r.artifact_id,
                ' from reading ',
                t.media_types,
                ' as ',
                r.modes
            )
    END AS advice,
    t.delivered_at AS observed_at,
    r.fact_id AS part_fact_id,
    CASE WHEN r.list = 'request' THEN r.request_fact_id ELSE '' END AS request_fact_id,
    r.card_fact_id
FROM ranked AS r
INNER JOIN types AS t
    ON r.agent = t.agent AND r.task_id = t.task_id AND r.artifact_id = t.artifact_id AND r.weight = t.weight
WHERE r.nth = 1
