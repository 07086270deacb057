-- title = "Skills of a card, each with its effective modes as text"
-- by    = ["body_sha256"]
--
-- Modes are sorted and joined by commas: equal text, equal modes. Null where a card was too large for them to be kept.

WITH inputs AS (
    SELECT
        s.body_sha256,
        s.skill_id,
        unnest(s.input_modes) AS mode
    FROM card_skills AS s
),

outputs AS (
    SELECT
        s.body_sha256,
        s.skill_id,
        unnest(s.output_modes) AS mode
    FROM card_skills AS s
),

taken AS (
    SELECT
        i.body_sha256,
        i.skill_id,
        string_agg(i.mode, ', ' ORDER BY i.mode) AS modes
    FROM inputs AS i
    GROUP BY i.body_sha256, i.skill_id
),

given AS (
    SELECT
        o.body_sha256,
        o.skill_id,
        string_agg(o.mode, ', ' ORDER BY o.mode) AS modes
    FROM outputs AS o
    GROUP BY o.body_sha256, o.skill_id
)

SELECT
    s.body_sha256,
    s.skill_id,
    s.security_sha256,
    CASE WHEN s.input_modes IS NULL THEN CAST(NULL AS VARCHAR) ELSE coalesce(t.modes, '') END AS input_modes,
    CASE WHEN s.output_modes IS NULL THEN CAST(NULL AS VARCHAR) ELSE coalesce(g.modes, '') END AS output_modes
FROM card_skills AS s
LEFT JOIN taken AS t ON s.body_sha256 = t.body_sha256 AND s.skill_id = t.skill_id
LEFT JOIN given AS g ON s.body_sha256 = g.body_sha256 AND s.skill_id = g.skill_id
