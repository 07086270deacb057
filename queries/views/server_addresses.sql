-- title = "Addresses at which an agent answered, and since when"
-- by    = ["agent", "bucket"]

SELECT
    x.agent,
    x.bucket,
    x.server_address,
    min(x.observed_at) AS first_at
FROM exchanges AS x
WHERE x.server_address <> ''
GROUP BY x.agent, x.bucket, x.server_address
