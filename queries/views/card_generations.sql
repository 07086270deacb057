-- title = "Generations of each card identity: version, contract and security"
-- by    = ["agent"]
--
-- A card identity is (agent, tenant, principal, basic or extended). Where nobody knows who asked for an extended card, the client stands for the
-- principal (`viewer`): extended cards may differ by caller. Words, urls and signatures make no generation. `fact_id` is the first look that
-- shows a generation, `fact_before` the first that showed the one before, `last_before_*` the last look that showed it; `shown_before_at` is when
-- the generation that begins was shown before, if ever.

WITH looked AS (
    SELECT
        l.agent,
        l.tenant,
        l.principal,
        l.extended,
        CASE WHEN l.extended AND l.principal = '' THEN l.client ELSE '' END AS viewer,
        l.version,
        l.contract_sha256,
        l.security_sha256,
        l.streaming,
        l.push_notifications,
        l.body_sha256,
        l.observed_at,
        l.fact_id,
        concat(l.version, ' ', l.contract_sha256, ' ', l.security_sha256) AS generation
    FROM card_looks AS l
),

followed AS (
    SELECT
        l.agent,
        l.tenant,
        l.principal,
        l.extended,
        l.viewer,
        l.version,
        l.contract_sha256,
        l.security_sha256,
        l.streaming,
        l.push_notifications,
        l.body_sha256,
        l.observed_at,
        l.fact_id,
        l.generation,
        lag(l.generation) OVER (PARTITION BY l.agent, l.tenant, l.principal, l.extended, l.viewer ORDER BY l.observed_at, l.fact_id)
            AS generation_before,
        lag(l.body_sha256) OVER (PARTITION BY l.agent, l.tenant, l.principal, l.extended, l.viewer ORDER BY l.observed_at, l.fact_id)
            AS last_body_before,
        lag(l.observed_at) OVER (PARTITION BY l.agent, l.tenant, l.principal, l.extended, l.viewer ORDER BY l.observed_at, l.fact_id)
            AS last_before_at,
        lag(l.fact_id) OVER (PARTITION BY l.agent, l.tenant, l.principal, l.extended, l.viewer ORDER BY l.observed_at, l.fact_id)
            AS last_before_fact_id,
        lag(l.observed_at) OVER (
            PARTITION BY l.agent, l.tenant, l.principal, l.extended, l.viewer, l.generation ORDER BY l.observed_at, l.fact_id
        ) AS shown_before_at
    FROM looked AS l
),

changed AS (
    SELECT
        k.agent,
        k.tenant,
        k.principal,
        k.extended,
        k.viewer,
        k.version,
        k.contract_sha256,
        k.security_sha256,
        k.streaming,
        k.push_notifications,
        k.body_sha256,
        k.observed_at,
        k.fact_id,
        k.generation,
        k.last_body_before,
        k.last_before_at,
        k.last_before_fact_id,
        k.shown_before_at
    FROM followed AS k
    WHERE k.generation_before IS NULL OR k.generation_before <> k.generation
)

SELECT
    c.agent,
    c.tenant,
    c.principal,
    c.extended,
    c.viewer,
    c.version,
    c.contract_sha256,
    c.security_sha256,
    c.streaming,
    c.push_notifications,
    c.body_sha256,
    c.generation,
    c.fact_id,
    c.observed_at AS valid_from,
    c.last_body_before,
    c.last_before_at,
    c.last_before_fact_id,
    c.shown_before_at,
    lead(c.observed_at)
        OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id)
        AS valid_to,
    lag(c.version)
        OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id)
        AS version_before,
    lag(c.contract_sha256) OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id)
        AS contract_before,
    lag(c.security_sha256) OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id)
        AS security_before,
    lag(c.streaming)
        OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id)
        AS streaming_before,
    lag(c.push_notifications) OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id)
        AS push_before,
    lag(c.body_sha256)
        OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id)
        AS body_before,
    lag(c.fact_id) OVER (PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer ORDER BY c.observed_at, c.fact_id) AS fact_before
FROM changed AS c
