-- title = "Dialects in which an agent has answered well, with the first such answer of each ten minutes"
-- by    = ["agent", "bucket"]

WITH answered AS (
    SELECT
        x.agent,
        x.bucket,
        x.dialect,
        x.observed_at,
        x.fact_id,
        row_number() OVER (PARTITION BY x.agent, x.bucket, x.dialect ORDER BY x.observed_at, x.fact_id) AS nth
    FROM exchanges AS x
    WHERE x.dialect <> '' AND x.operation <> '' AND x.outcome = 'ok'
)

SELECT
    a.agent,
    a.bucket,
    a.dialect,
    a.observed_at,
    a.fact_id
FROM answered AS a
WHERE a.nth = 1
