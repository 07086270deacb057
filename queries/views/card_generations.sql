-- title = "Generations of each card identity: version, contract and security"
-- by    = ["agent"]
--
-- A card identity is (agent, principal, basic or extended). Words, urls and signatures make no generation.

WITH looked AS (
    SELECT
        l.agent,
        l.principal,
        l.extended,
        l.version,
        l.contract_sha256,
        l.security_sha256,
        l.body_sha256,
        l.observed_at,
        l.fact_id,
        concat(l.version, ' ', l.contract_sha256, ' ', l.security_sha256) AS generation,
        lag(concat(l.version, ' ', l.contract_sha256, ' ', l.security_sha256)) OVER (
            PARTITION BY l.agent, l.principal, l.extended ORDER BY l.observed_at, l.fact_id
        ) AS generation_before
    FROM card_looks AS l
),

changed AS (
    SELECT
        k.agent,
        k.principal,
        k.extended,
        k.version,
        k.contract_sha256,
        k.security_sha256,
        k.body_sha256,
        k.observed_at,
        k.fact_id,
        k.generation
    FROM looked AS k
    WHERE k.generation_before IS NULL OR k.generation_before <> k.generation
)

SELECT
    c.agent,
    c.principal,
    c.extended,
    c.version,
    c.contract_sha256,
    c.security_sha256,
    c.body_sha256,
    c.generation,
    c.fact_id,
    c.observed_at AS valid_from,
    lead(c.observed_at) OVER (PARTITION BY c.agent, c.principal, c.extended ORDER BY c.observed_at, c.fact_id) AS valid_to,
    lag(c.version) OVER (PARTITION BY c.agent, c.principal, c.extended ORDER BY c.observed_at, c.fact_id) AS version_before,
    lag(c.contract_sha256) OVER (PARTITION BY c.agent, c.principal, c.extended ORDER BY c.observed_at, c.fact_id) AS contract_before,
    lag(c.security_sha256) OVER (PARTITION BY c.agent, c.principal, c.extended ORDER BY c.observed_at, c.fact_id) AS security_before,
    lag(c.body_sha256) OVER (PARTITION BY c.agent, c.principal, c.extended ORDER BY c.observed_at, c.fact_id) AS body_before,
    lag(c.fact_id) OVER (PARTITION BY c.agent, c.principal, c.extended ORDER BY c.observed_at, c.fact_id) AS fact_before
FROM changed AS c
