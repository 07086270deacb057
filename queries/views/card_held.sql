-- title = "Which card a client held, and from when to when"
-- by    = ["client", "agent"]
--
-- One row per change of body, not per fetch. Basic and extended card are held side by side.

WITH looked AS (
    SELECT
        l.client,
        l.agent,
        l.extended,
        l.body_sha256,
        l.observed_at,
        l.fact_id,
        lag(l.body_sha256) OVER (PARTITION BY l.client, l.agent, l.extended ORDER BY l.observed_at, l.fact_id) AS body_before
    FROM card_looks AS l
)

SELECT
    k.client,
    k.agent,
    k.extended,
    k.body_sha256,
    k.fact_id,
    k.observed_at AS valid_from,
    lead(k.observed_at) OVER (PARTITION BY k.client, k.agent, k.extended ORDER BY k.observed_at, k.fact_id) AS valid_to
FROM looked AS k
WHERE k.body_before IS NULL OR k.body_before <> k.body_sha256
