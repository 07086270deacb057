-- title = "Output modes of a card's skills, one a row"
-- by    = ["body_sha256"]

SELECT
    s.body_sha256,
    s.skill_id,
    unnest(s.output_modes) AS mode
FROM card_skills AS s
