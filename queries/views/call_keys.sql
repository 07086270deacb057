-- title = "One key for every observation of the same call"
-- by    = ["agent", "content_hash"]
-- params = { pairing = "2 seconds" }
--
-- Exact keys come with the facts. Without one, the n-th observation of a content by one observer pairs with the n-th by another, within a
-- run of observations that are at most `pairing` apart. What has neither is a call of its own.

WITH spaced AS (
    SELECT
        x.agent,
        x.content_hash,
        x.call_id,
        x.fact_id,
        x.observer,
        x.observer_name,
        x.observed_at,
        lag(x.observed_at) OVER (
            PARTITION BY x.agent, x.content_hash, x.call_id
            ORDER BY x.observed_at, x.fact_id
        ) AS before_at
    FROM exchanges AS x
),

runs AS (
    SELECT
        s.agent,
        s.content_hash,
        s.call_id,
        s.fact_id,
        s.observer,
        s.observer_name,
        s.observed_at,
        sum(CASE WHEN s.before_at IS NULL OR s.observed_at > s.before_at + CAST($pairing AS INTERVAL) THEN 1 ELSE 0 END) OVER (
            PARTITION BY s.agent, s.content_hash, s.call_id
            ORDER BY s.observed_at, s.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run
    FROM spaced AS s
),

ranked AS (
    SELECT
        r.agent,
        r.content_hash,
        r.call_id,
        r.fact_id,
        row_number() OVER (
            PARTITION BY r.agent, r.content_hash, r.call_id, r.run, r.observer, r.observer_name
            ORDER BY r.observed_at, r.fact_id
        ) AS nth,
        min(r.fact_id) OVER (PARTITION BY r.agent, r.content_hash, r.call_id, r.run) AS run_key
    FROM runs AS r
)

SELECT
    k.agent,
    k.content_hash,
    k.fact_id,
    CASE
        WHEN k.call_id <> '' THEN k.call_id
        WHEN k.content_hash <> '' THEN concat('content:', k.run_key, ':', CAST(k.nth AS VARCHAR))
        ELSE concat('fact:', k.fact_id)
    END AS call_key
FROM ranked AS k
