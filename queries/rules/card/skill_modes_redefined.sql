-- title    = "A skill keeps its id and takes or gives other media types"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent", "skill_id"]
-- needs    = ["card_skills.output_modes"]
-- summary  = "{agent} redefined {skill_id}: {what}"
-- suspect  = "card-publisher"
-- because  = "{why}"
-- next     = "Have the publisher of {agent} give the changed skill another id, or restore its modes, before callers of {skill_id} parse what they did not ask for"
--
-- ## What it finds
-- A skill whose effective input or output modes (its own, else the card's defaults) differ from those in the last look of the same card identity that
-- listed it. A warning under one version, context when the version was raised with it. `count` says how often.
-- ## Why it matters
-- Callers choose a skill by id and a parser by its modes. Under the same id they now send or receive another type.
-- ## First checks
-- 1. Compare the two cards: was it the skill, or the defaults that it inherits?
-- 2. Look for mode_mismatch of the same skill: tasks that deliver what one of the two cards promises.
-- 3. Look for two publishers in turn: see split_view.
-- ## When it is wrong
-- When a mode was added that no caller is bound to receive, and all callers send `acceptedOutputModes`.
-- ## What it cannot see
-- What a media type holds: a new schema under `application/json` is no change here.

WITH listed AS (
    SELECT
        g.agent,
        m.skill_id,
        g.version,
        m.input_modes,
        m.output_modes,
        g.valid_from,
        g.fact_id,
        lag(g.version) OVER (
            PARTITION BY g.agent, g.tenant, g.principal, g.extended, g.viewer, m.skill_id ORDER BY g.valid_from, g.fact_id
        ) AS version_before,
        lag(m.input_modes) OVER (
            PARTITION BY g.agent, g.tenant, g.principal, g.extended, g.viewer, m.skill_id ORDER BY g.valid_from, g.fact_id
        ) AS input_before,
        lag(m.output_modes) OVER (
            PARTITION BY g.agent, g.tenant, g.principal, g.extended, g.viewer, m.skill_id ORDER BY g.valid_from, g.fact_id
        ) AS output_before,
        lag(g.fact_id) OVER (
            PARTITION BY g.agent, g.tenant, g.principal, g.extended, g.viewer, m.skill_id ORDER BY g.valid_from, g.fact_id
        ) AS fact_before
    FROM card_generations AS g
    INNER JOIN skill_modes AS m ON g.body_sha256 = m.body_sha256
),

redefined AS (
    SELECT
        l.agent,
        l.skill_id,
        l.version,
        l.version_before,
        l.valid_from,
        l.fact_id,
        l.fact_before,
        concat_ws(
            ', ',
            CASE
                WHEN l.output_before <> l.output_modes
                    THEN
                        concat(
                            'output ',
                            coalesce(nullif(l.output_before, ''), 'none'),
                            ' became ',
                            coalesce(nullif(l.output_modes, ''), 'none')
                        )
            END,
            CASE
                WHEN l.input_before <> l.input_modes
                    THEN
                        concat(
                            'input ', coalesce(nullif(l.input_before, ''), 'none'), ' became ', coalesce(nullif(l.input_modes, ''), 'none')
                        )
            END
        ) AS what
    FROM listed AS l
    WHERE l.output_before <> l.output_modes OR l.input_before <> l.input_modes
),

ranked AS (
    SELECT
        r.agent,
        r.skill_id,
        r.version,
        r.version_before,
        r.valid_from,
        r.fact_id,
        r.fact_before,
        r.what,
        row_number() OVER (
            PARTITION BY r.agent, r.skill_id
            ORDER BY CASE WHEN r.version = r.version_before THEN 0 ELSE 1 END, r.valid_from, r.fact_id
        ) AS rank,
        count(*) OVER (PARTITION BY r.agent, r.skill_id) AS changes,
        min(r.valid_from) OVER (PARTITION BY r.agent, r.skill_id) AS first_seen,
        max(r.valid_from) OVER (PARTITION BY r.agent, r.skill_id) AS last_seen
    FROM redefined AS r
)

SELECT
    r.agent,
    r.skill_id,
    r.what,
    r.version_before,
    r.version,
    CASE
        WHEN r.version = r.version_before AND r.version = '' THEN 'the card has no version that could tell'
        WHEN r.version = r.version_before THEN concat('the version stayed ', r.version)
        ELSE concat(
            'the version went from ',
            coalesce(nullif(r.version_before, ''), 'none'),
            ' to ',
            coalesce(nullif(r.version, ''), 'none'),
            ' with it'
        )
    END AS why,
    CASE WHEN r.version = r.version_before THEN 'warning' ELSE 'info' END AS severity,
    'confirmed' AS confidence,
    r.changes AS count,
    r.valid_from AS observed_at,
    r.first_seen,
    r.last_seen,
    r.fact_before AS before_fact_id,
    r.fact_id AS after_fact_id
FROM ranked AS r
WHERE r.rank = 1
