-- title = "Output modes of a card, one a row"
-- by    = ["body_sha256"]
--
-- Effective modes of each skill, and the card's defaults under the skill id `''`.

WITH bodies AS (
    SELECT
        c.body_sha256,
        min(c.fact_id) AS fact_id
    FROM cards AS c
    WHERE c.body_sha256 <> ''
    GROUP BY c.body_sha256
)

SELECT
    s.body_sha256,
    s.skill_id,
    unnest(s.output_modes) AS mode
FROM card_skills AS s
UNION ALL
SELECT
    c.body_sha256,
    '' AS skill_id,
    unnest(c.default_output_modes) AS mode
FROM cards AS c
INNER JOIN bodies AS b ON c.body_sha256 = b.body_sha256 AND c.fact_id = b.fact_id
