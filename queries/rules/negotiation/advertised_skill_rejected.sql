-- title    = "The agent refuses a message for a skill that the caller's card lists"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["client", "agent"]
-- entity   = ["client", "agent", "skill_id"]
-- needs    = ["exchanges.skill_id", "exchanges.operation", "exchanges.outcome", "cards.body_sha256"]
-- summary  = "{agent} refused {count|message|messages} of {client} for {skill_id}, which the card it holds lists ({refused_as})"
-- suspect  = "client-cache"
-- because  = "{why}"
-- next     = "Fetch the card of {agent} as {client} sees it, and compare its skills with the one held; unchanged, ask the agent's owner why {skill_id} is refused"
-- params   = { shown = 10 }
-- marks    = { unoffered_modes = { on = ["agent", "call_key"] } }
--
-- ## What it finds
-- Messages refused outright, with an error, for lack of a capability: words that refuse the skill or the mode, `CONTENT_TYPE_NOT_SUPPORTED` (-32005), or REST 415,
-- 422, 501 with such words; the card that the caller held lists the skill. A code that only says that something is not supported is a hint.
-- ## Why it matters
-- What the card promises is not to be had. No task exists, so nothing shows where tasks are watched.
-- ## First checks
-- 1. Compare the held card with the latest look by anyone: gone means a stale cache.
-- 2. Still listed: see runtime_contradicts_card; the runtime is ahead of or behind its card.
-- 3. A mode was refused: compare the request's accepted output modes and the types of its parts with the skill's modes.
-- ## When it is wrong
-- When the agent refuses this one request, not the skill, in words that read like the latter.
-- ## What it cannot see
-- Requests that name no skill, and agents that fail the task instead (unknown_skill).

WITH refused AS (
    SELECT
        f.client,
        f.agent,
        f.skill_id,
        f.about,
        f.observed_at,
        f.fact_id AS refusal_fact_id,
        s.held_fact_id,
        CASE WHEN f.about = 'unsaid' THEN 2 ELSE 0 END
        + CASE WHEN s.client = '' THEN 1 ELSE 0 END + CASE WHEN s.basis = 'anyone' THEN 1 ELSE 0 END AS steps_down
    FROM capability_failures AS f
    INNER JOIN send_cards AS s ON f.agent = s.agent AND f.client = s.client AND f.call_key = s.call_key
    WHERE
        f.kind = 'call' AND f.skill_id <> '' AND f.about IN ('skill', 'mode', 'unsaid') AND s.held_lists
        AND NOT EXISTS (SELECT 1 FROM unoffered_modes AS u WHERE u.agent = f.agent AND u.call_key = f.call_key)
        -- Agents of another version refuse with the same codes; words that name the skill are no matter of version.
        AND (
            f.about = 'skill'
            OR NOT EXISTS (SELECT 1 FROM version_mismatch AS v WHERE v.client = f.client AND v.agent = f.agent)
        )
),

ranked AS (
    SELECT
        r.client,
        r.agent,
        r.skill_id,
        r.about,
        r.observed_at,
        r.refusal_fact_id,
        r.held_fact_id,
        r.steps_down,
        row_number() OVER (
            PARTITION BY r.client, r.agent, r.skill_id ORDER BY r.steps_down, r.observed_at, r.refusal_fact_id
        ) AS nth
    FROM refused AS r
),

found AS (
    SELECT
        r.client,
        r.agent,
        r.skill_id,
        count(*) AS refusals,
        min(r.observed_at) AS first_seen,
        max(r.observed_at) AS last_seen,
        min(r.steps_down) AS steps_down,
        max(CASE WHEN r.nth = 1 THEN r.about END) AS about,
        max(CASE WHEN r.nth = 1 THEN r.held_fact_id END) AS held_card_fact_id,
        array_agg(r.refusal_fact_id ORDER BY r.nth, r.refusal_fact_id) FILTER (WHERE r.nth <= $shown) AS refusal_fact_ids
    FROM ranked AS r
    GROUP BY r.client, r.agent, r.skill_id
)

SELECT
    f.client,
    f.agent,
    f.skill_id,
    f.refusals AS "count",
    CASE f.about
        WHEN 'skill' THEN 'skill unknown' WHEN 'mode' THEN 'mode not supported' ELSE 'something is not supported'
    END AS refused_as,
    CASE WHEN f.steps_down < 2 THEN 'warning' ELSE 'info' END AS severity,
    CASE f.steps_down WHEN 0 THEN 'confirmed' WHEN 1 THEN 'likely' ELSE 'possible' END AS confidence,
    CASE f.about
        WHEN 'skill' THEN 'the card held lists the skill, the agent says that it does not know it'
        WHEN 'mode' THEN 'the card held lists the skill, the agent says that it does not support a mode of the request'
        ELSE 'the card held lists the skill, the agent does not say what it lacks'
    END AS why,
    f.first_seen AS observed_at,
    f.first_seen,
    f.last_seen,
    f.refusal_fact_ids,
    f.held_card_fact_id
FROM found AS f
