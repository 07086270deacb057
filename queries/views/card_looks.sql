-- title = "Successful looks at a card, each with the body it stands for"
-- by    = ["agent"]
--
-- A 304 stands for the body that the same party saw last at the same card. A failed fetch is no look and changes nothing.

WITH grouped AS (
    SELECT
        c.agent,
        c.client,
        c.principal,
        c.extended,
        c.fact_id,
        c.observed_at,
        c.url,
        c.origin,
        c.not_modified,
        c.body_sha256,
        count(CASE WHEN c.body_sha256 <> '' THEN 1 END) OVER (
            PARTITION BY c.agent, c.client, c.principal, c.extended
            ORDER BY c.observed_at, c.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS nth_body
    FROM cards AS c
    WHERE c.body_sha256 <> '' OR coalesce(c.not_modified, FALSE)
),

resolved AS (
    SELECT
        g.agent,
        g.client,
        g.principal,
        g.extended,
        g.fact_id,
        g.observed_at,
        g.url,
        g.origin,
        g.not_modified,
        max(g.body_sha256) OVER (PARTITION BY g.agent, g.client, g.principal, g.extended, g.nth_body) AS body_sha256
    FROM grouped AS g
),

bodies AS (
    SELECT
        c.agent,
        c.body_sha256,
        max(c.version) AS version,
        max(c.contract_sha256) AS contract_sha256,
        max(c.security_sha256) AS security_sha256,
        bool_or(coalesce(c.streaming, FALSE)) AS streaming,
        bool_or(coalesce(c.push_notifications, FALSE)) AS push_notifications
    FROM cards AS c
    WHERE c.body_sha256 <> ''
    GROUP BY c.agent, c.body_sha256
)

SELECT
    r.agent,
    r.client,
    r.principal,
    coalesce(r.extended, FALSE) AS extended,
    r.fact_id,
    r.observed_at,
    r.url,
    r.origin,
    coalesce(r.not_modified, FALSE) AS not_modified,
    r.body_sha256,
    b.version,
    b.contract_sha256,
    b.security_sha256,
    b.streaming,
    b.push_notifications
FROM resolved AS r
INNER JOIN bodies AS b ON r.agent = b.agent AND r.body_sha256 = b.body_sha256
