-- title = "Deliveries whose authentication no registration of their task asks for"
-- by    = ["agent", "task_id"]
--
-- One task may have several registrations at one url, each with its own authentication: a delivery differs if it fits none of them. Registrations
-- at the delivery's url count, or all of the task's where none is (a receiver behind a proxy sees another address). An API key travels in a
-- header that nobody here reads, so nothing can be said of it. A JWT is a bearer token as well.

WITH compared AS (
    SELECT
        d.agent,
        d.task_id,
        d.call_id,
        c.url = d.url AS is_here,
        c.scheme IN ('', 'apikey') OR c.scheme = d.scheme OR (c.scheme = 'jwt' AND d.signature NOT IN ('', 'absent')) AS fits
    FROM deliveries AS d
    INNER JOIN push_configs AS c ON d.agent = c.agent AND d.task_id = c.task_id
    WHERE
        d.task_id <> '' AND d.headers_seen AND d.failure_class IN ('', 'auth')
        AND (d.config_id = '' OR c.config_id = '' OR d.config_id = c.config_id)
),

differing AS (
    SELECT
        c.agent,
        c.task_id,
        c.call_id,
        bool_or(c.is_here) AS has_here
    FROM compared AS c
    GROUP BY c.agent, c.task_id, c.call_id
    HAVING NOT bool_or(c.fits AND c.is_here) AND NOT (bool_or(c.fits) AND NOT bool_or(c.is_here))
)

SELECT
    d.agent,
    d.task_id,
    d.call_id,
    d.url,
    d.scheme,
    d.token_present,
    d.failure_class,
    d.http_status,
    string_agg(DISTINCT c.scheme, ' or ' ORDER BY c.scheme) AS asked,
    d.observed_at,
    d.fact_id,
    min(c.fact_id) AS config_fact_id
FROM differing AS x
INNER JOIN deliveries AS d ON x.agent = d.agent AND x.task_id = d.task_id AND x.call_id = d.call_id
INNER JOIN push_configs AS c ON x.agent = c.agent AND x.task_id = c.task_id AND (c.url = d.url OR NOT x.has_here)
WHERE d.config_id = '' OR c.config_id = '' OR d.config_id = c.config_id
GROUP BY
    d.agent, d.task_id, d.call_id, d.url, d.scheme, d.token_present, d.failure_class, d.http_status, d.observed_at, d.fact_id
