-- title  = "The card that a caller held, and the one it acted on, for every message sent"
-- by     = ["agent", "call_key"]
-- params = { block = 64 }
-- marks  = { card_held = { on = ["client", "agent"], during = ["valid_from", "valid_to"] }, card_seen = { on = ["agent"], during = ["valid_from", "valid_to"] }, card_looks = { on = ["agent"] } }
--
-- `basis`: `client` (it looked itself), `anyone` (the last card that anyone saw), `none`. Held are the basic and the extended card together.
-- A caller that names a skill which the held cards do not list evidently acts on another look: the last one, its own first, that lists it
-- (`negotiated_*`). Cards held are found by blocks of `block`, and looks by the hour, so that a card of many changes is not held against every message.

WITH sends AS (
    SELECT
        c.agent,
        c.call_key,
        c.client,
        c.task_id,
        c.skill_id,
        c.observed_at
    FROM calls AS c
    WHERE c.operation IN ('SendMessage', 'SendStreamingMessage')
),

own_changes AS (
    SELECT
        h.client,
        h.agent,
        h.extended,
        h.body_sha256,
        h.fact_id,
        h.valid_from,
        h.valid_to,
        floor((row_number() OVER (PARTITION BY h.client, h.agent ORDER BY h.valid_from, h.fact_id) - 1) / ($block * 1.0)) AS block
    FROM card_held AS h
),

own_blocks AS (
    SELECT
        h.client,
        h.agent,
        h.block,
        min(h.valid_from) AS first_at,
        CASE WHEN NOT bool_or(h.valid_to IS NULL) THEN max(h.valid_to) END AS until_at
    FROM own_changes AS h
    GROUP BY h.client, h.agent, h.block
),

own AS (
    SELECT
        s.agent,
        s.call_key,
        max(CASE WHEN h.extended THEN '' ELSE h.body_sha256 END) AS basic_body,
        max(CASE WHEN h.extended THEN h.body_sha256 ELSE '' END) AS extended_body,
        max(CASE WHEN h.extended THEN '' ELSE h.fact_id END) AS basic_fact_id,
        max(CASE WHEN h.extended THEN h.fact_id ELSE '' END) AS extended_fact_id,
        max(h.valid_from) AS looked_at
    FROM sends AS s
    INNER JOIN own_blocks AS b
        ON
            s.client = b.client AND s.agent = b.agent
            AND s.observed_at >= b.first_at AND (b.until_at IS NULL OR s.observed_at < b.until_at)
    INNER JOIN own_changes AS h
        ON
            s.client = h.client AND s.agent = h.agent AND b.block = h.block
            AND s.observed_at >= h.valid_from AND (h.valid_to IS NULL OR s.observed_at < h.valid_to)
    GROUP BY s.agent, s.call_key
),

anyones_changes AS (
    SELECT
        h.agent,
        h.extended,
        h.body_sha256,
        h.fact_id,
        h.valid_from,
        h.valid_to,
        floor((row_number() OVER (PARTITION BY h.agent ORDER BY h.valid_from, h.fact_id) - 1) / ($block * 1.0)) AS block
    FROM card_seen AS h
),

anyones_blocks AS (
    SELECT
        h.agent,
        h.block,
        min(h.valid_from) AS first_at,
        CASE WHEN NOT bool_or(h.valid_to IS NULL) THEN max(h.valid_to) END AS until_at
    FROM anyones_changes AS h
    GROUP BY h.agent, h.block
),

anyones AS (
    SELECT
        s.agent,
        s.call_key,
        max(CASE WHEN h.extended THEN '' ELSE h.body_sha256 END) AS basic_body,
        max(CASE WHEN h.extended THEN h.body_sha256 ELSE '' END) AS extended_body,
        max(CASE WHEN h.extended THEN '' ELSE h.fact_id END) AS basic_fact_id,
        max(CASE WHEN h.extended THEN h.fact_id ELSE '' END) AS extended_fact_id,
        max(h.valid_from) AS looked_at
    FROM sends AS s
    INNER JOIN anyones_blocks AS b
        ON s.agent = b.agent AND s.observed_at >= b.first_at AND (b.until_at IS NULL OR s.observed_at < b.until_at)
    INNER JOIN anyones_changes AS h
        ON
            s.agent = h.agent AND b.block = h.block
            AND s.observed_at >= h.valid_from AND (h.valid_to IS NULL OR s.observed_at < h.valid_to)
    GROUP BY s.agent, s.call_key
),

held AS (
    SELECT
        s.agent,
        s.call_key,
        s.client,
        s.task_id,
        s.skill_id,
        s.observed_at,
        CASE WHEN o.call_key IS NOT NULL THEN 'client' WHEN a.call_key IS NOT NULL THEN 'anyone' ELSE 'none' END AS basis,
        coalesce(o.basic_body, a.basic_body, '') AS basic_body,
        coalesce(o.extended_body, a.extended_body, '') AS extended_body,
        coalesce(o.basic_fact_id, a.basic_fact_id, '') AS basic_fact_id,
        coalesce(o.extended_fact_id, a.extended_fact_id, '') AS extended_fact_id,
        coalesce(o.looked_at, a.looked_at) AS looked_at
    FROM sends AS s
    LEFT JOIN own AS o ON s.agent = o.agent AND s.call_key = o.call_key
    LEFT JOIN anyones AS a ON s.agent = a.agent AND s.call_key = a.call_key
),

listed AS (
    SELECT
        h.agent,
        h.call_key,
        h.client,
        h.task_id,
        h.skill_id,
        h.observed_at,
        h.basis,
        h.basic_body,
        h.extended_body,
        h.basic_fact_id,
        h.extended_fact_id,
        h.looked_at,
        b.skill_id IS NOT NULL AS basic_lists,
        e.skill_id IS NOT NULL AS extended_lists
    FROM held AS h
    LEFT JOIN card_skills AS b ON h.basic_body = b.body_sha256 AND h.skill_id = b.skill_id
    LEFT JOIN card_skills AS e ON h.extended_body = e.body_sha256 AND h.skill_id = e.skill_id
),

unlisted AS (
    SELECT
        l.agent,
        l.call_key,
        l.client,
        l.skill_id,
        l.observed_at
    FROM listed AS l
    WHERE l.skill_id <> '' AND NOT l.basic_lists AND NOT l.extended_lists
),

-- Hours in which somebody saw a card that lists a skill, and the first such look of each caller.
hours AS (
    SELECT
        k.agent,
        k.client,
        s.skill_id,
        k.hour,
        min(k.first_at) AS first_at
    FROM (
        SELECT
            l.agent,
            l.client,
            l.body_sha256,
            date_trunc('hour', l.observed_at) AS hour,
            min(l.observed_at) AS first_at
        FROM card_looks AS l
        GROUP BY l.agent, l.client, l.body_sha256, date_trunc('hour', l.observed_at)
    ) AS k
    INNER JOIN card_skills AS s ON k.body_sha256 = s.body_sha256
    GROUP BY k.agent, k.client, s.skill_id, k.hour
),

-- The last day and then the last hour with a look that lists the skill: one of the caller, else one of anyone.
last_days AS (
    SELECT
        u.agent,
        u.call_key,
        u.client,
        u.skill_id,
        u.observed_at,
        coalesce(max(CASE WHEN d.client = u.client THEN d.day END), max(d.day)) AS day
    FROM unlisted AS u
    INNER JOIN (
        SELECT
            h.agent,
            h.client,
            h.skill_id,
            date_trunc('day', h.hour) AS day,
            min(h.first_at) AS first_at
        FROM hours AS h
        GROUP BY h.agent, h.client, h.skill_id, date_trunc('day', h.hour)
    ) AS d ON u.agent = d.agent AND u.skill_id = d.skill_id AND u.observed_at >= d.first_at
    GROUP BY u.agent, u.call_key, u.client, u.skill_id, u.observed_at
),

last_hours AS (
    SELECT
        u.agent,
        u.call_key,
        u.client,
        u.skill_id,
        u.observed_at,
        coalesce(max(CASE WHEN h.client = u.client THEN h.hour END), max(h.hour)) AS hour
    FROM last_days AS u
    INNER JOIN hours AS h
        ON u.agent = h.agent AND u.skill_id = h.skill_id AND u.day = date_trunc('day', h.hour) AND u.observed_at >= h.first_at
    GROUP BY u.agent, u.call_key, u.client, u.skill_id, u.observed_at
),

earlier AS (
    SELECT
        u.agent,
        u.call_key,
        k.body_sha256,
        k.fact_id,
        CASE WHEN k.client = u.client THEN 'client' ELSE 'anyone' END AS basis,
        row_number() OVER (
            PARTITION BY u.agent, u.call_key
            ORDER BY CASE WHEN k.client = u.client THEN 0 ELSE 1 END, k.observed_at DESC NULLS LAST, k.fact_id
        ) AS nth
    FROM last_hours AS u
    INNER JOIN card_looks AS k
        ON u.agent = k.agent AND u.hour = date_trunc('hour', k.observed_at) AND u.observed_at >= k.observed_at
    INNER JOIN card_skills AS s ON k.body_sha256 = s.body_sha256 AND u.skill_id = s.skill_id
)

SELECT
    l.agent,
    l.call_key,
    l.client,
    l.task_id,
    l.skill_id,
    l.observed_at,
    l.basis,
    l.basic_body,
    l.extended_body,
    CASE
        WHEN l.extended_lists AND NOT l.basic_lists THEN l.extended_fact_id WHEN l.basic_fact_id <> '' THEN l.basic_fact_id ELSE
            l.extended_fact_id
    END
        AS held_fact_id,
    l.looked_at,
    CASE WHEN l.skill_id = '' OR l.basis = 'none' THEN CAST(NULL AS BOOLEAN) ELSE l.basic_lists OR l.extended_lists END AS held_lists,
    CASE WHEN l.basic_lists OR l.extended_lists THEN l.basis ELSE coalesce(n.basis, 'none') END AS negotiated_basis,
    coalesce(n.body_sha256, '') AS negotiated_body,
    coalesce(n.fact_id, '') AS negotiated_fact_id
FROM listed AS l
LEFT JOIN earlier AS n ON l.agent = n.agent AND l.call_key = n.call_key AND n.nth = 1
