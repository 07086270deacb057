-- title = "Keys whose signatures a receiver began to refuse although they are the agent's"
-- by    = ["agent", "url"]
-- marks = { key_looks = { on = ["agent"] } }
--
-- One row for each agent, webhook and key id: the first step from accepted to refused that a rotation explains. The receiver's own look at the keys is one
-- taped by itself, or made from its address if that is no loopback, which everybody shares. `receiver_basis`: `seen` or `unseen`.

WITH signed AS (
    SELECT
        d.agent,
        d.url,
        d.kid,
        d.receiver,
        d.signature,
        d.failure_class = '' AS is_accepted,
        d.observed_at,
        d.fact_id
    FROM deliveries AS d
    WHERE
        d.url <> '' AND d.kid <> ''
        AND (d.failure_class = '' OR (d.failure_class = 'auth' AND d.signature IN ('invalid', 'unknown')))
),

pressed AS (
    SELECT
        s.agent,
        s.url
    FROM signed AS s
    GROUP BY s.agent, s.url
    HAVING bool_or(s.is_accepted) AND NOT bool_and(s.is_accepted)
),

ordered AS (
    SELECT
        s.agent,
        s.url,
        s.kid,
        s.receiver,
        s.signature,
        s.is_accepted,
        s.observed_at,
        s.fact_id,
        lag(s.is_accepted) OVER (PARTITION BY s.agent, s.url, s.kid ORDER BY s.observed_at, s.fact_id) AS accepted_before,
        max(CASE WHEN s.is_accepted THEN s.observed_at END) OVER (
            PARTITION BY s.agent, s.url ORDER BY s.observed_at, s.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS worked_at
    FROM signed AS s
    INNER JOIN pressed AS p ON s.agent = p.agent AND s.url = p.url
),

steps AS (
    SELECT
        o.agent,
        o.url,
        o.kid,
        o.receiver,
        o.signature,
        o.accepted_before IS NULL AS is_new_kid,
        o.worked_at,
        o.observed_at AS began_at,
        o.fact_id
    FROM ordered AS o
    WHERE NOT o.is_accepted AND coalesce(o.accepted_before, TRUE) AND o.worked_at IS NOT NULL
),

looks AS (
    SELECT
        k.agent,
        k.key_url,
        k.observed_at AS looked_at
    FROM key_looks AS k
    GROUP BY k.agent, k.key_url, k.observed_at
),

listed AS (
    SELECT
        s.agent,
        s.url,
        s.fact_id,
        l.key_url,
        l.looked_at,
        row_number() OVER (
            PARTITION BY s.agent, s.url, s.fact_id, l.key_url
            ORDER BY
                CASE WHEN l.looked_at <= s.began_at THEN 0 ELSE 1 END,
                CASE WHEN l.looked_at <= s.began_at THEN l.looked_at END DESC NULLS LAST,
                l.looked_at, s.fact_id
        ) AS nth
    FROM steps AS s
    INNER JOIN looks AS l ON s.agent = l.agent
),

current_keys AS (
    SELECT
        l.agent,
        l.url,
        l.fact_id,
        k.kid,
        k.thumbprint,
        k.origin,
        k.fact_id AS key_fact_id
    FROM listed AS l
    INNER JOIN key_looks AS k ON l.agent = k.agent AND l.key_url = k.key_url AND l.looked_at = k.observed_at
    WHERE l.nth = 1
),

owned AS (
    SELECT
        s.agent,
        s.url,
        s.fact_id,
        max(c.thumbprint) AS thumbprint,
        -- A key set says more than the signature of a card.
        split_part(min(concat(CASE c.origin WHEN 'jwks' THEN '0' ELSE '1' END, ' ', c.key_fact_id)), ' ', 2) AS key_fact_id
    FROM steps AS s
    INNER JOIN current_keys AS c ON s.agent = c.agent AND s.url = c.url AND s.fact_id = c.fact_id AND s.kid = c.kid
    GROUP BY s.agent, s.url, s.fact_id
),

fetched AS (
    SELECT
        s.agent,
        s.url,
        s.fact_id,
        s.kid,
        k.kid AS fetched_kid,
        k.thumbprint AS fetched_thumbprint,
        k.observed_at AS fetched_at,
        k.fact_id AS fetched_fact_id,
        max(k.observed_at) OVER (PARTITION BY s.agent, s.url, s.fact_id) AS last_at
    FROM steps AS s
    INNER JOIN key_looks AS k ON s.agent = k.agent AND s.began_at >= k.observed_at
    WHERE
        k.origin = 'jwks'
        AND (
            k.observer = 'receiver'
            OR (
                k.client = s.receiver AND k.client <> '' AND k.client NOT IN ('localhost', '::1', '[::1]')
                AND NOT starts_with(k.client, '127.')
            )
        )
),

receivers AS (
    SELECT
        f.agent,
        f.url,
        f.fact_id,
        max(CASE WHEN f.fetched_kid = f.kid THEN 1 ELSE 0 END) = 1 AS knows_kid,
        max(CASE WHEN f.fetched_kid = f.kid THEN f.fetched_thumbprint ELSE '' END) AS thumbprint,
        min(f.fetched_fact_id) AS fetched_fact_id
    FROM fetched AS f
    WHERE f.fetched_at = f.last_at
    GROUP BY f.agent, f.url, f.fact_id
),

earlier AS (
    SELECT
        s.agent,
        s.url,
        s.fact_id,
        k.kid,
        k.thumbprint,
        k.fact_id AS key_fact_id,
        row_number() OVER (
            PARTITION BY s.agent, s.url, s.fact_id, k.kid ORDER BY k.observed_at DESC NULLS LAST, k.fact_id
        ) AS nth
    FROM steps AS s
    INNER JOIN key_looks AS k ON s.agent = k.agent AND s.worked_at >= k.observed_at
    WHERE k.thumbprint <> ''
),

same_keys AS (
    SELECT
        w.agent,
        w.url,
        k.thumbprint
    FROM signed AS w
    INNER JOIN key_looks AS k ON w.agent = k.agent AND w.kid = k.kid
    WHERE w.is_accepted AND k.thumbprint <> ''
    GROUP BY w.agent, w.url, k.thumbprint
),

explained AS (
    SELECT
        s.agent,
        s.url,
        s.kid,
        s.is_new_kid,
        s.signature,
        s.worked_at,
        s.began_at,
        s.fact_id,
        o.key_fact_id,
        coalesce(r.fetched_fact_id, '') AS fetched_fact_id,
        CASE WHEN r.fact_id IS NULL THEN 'unseen' ELSE 'seen' END AS receiver_basis,
        row_number() OVER (PARTITION BY s.agent, s.url, s.kid ORDER BY s.began_at, s.fact_id) AS nth
    FROM steps AS s
    INNER JOIN owned AS o ON s.agent = o.agent AND s.url = o.url AND s.fact_id = o.fact_id
    LEFT JOIN receivers AS r ON s.agent = r.agent AND s.url = r.url AND s.fact_id = r.fact_id
    LEFT JOIN earlier AS e ON s.agent = e.agent AND s.url = e.url AND s.fact_id = e.fact_id AND s.kid = e.kid AND e.nth = 1
    LEFT JOIN same_keys AS t ON s.agent = t.agent AND s.url = t.url AND o.thumbprint = t.thumbprint
    WHERE
        CASE
            WHEN s.is_new_kid THEN NOT coalesce(r.knows_kid, FALSE) AND t.thumbprint IS NULL
            WHEN o.thumbprint = '' THEN FALSE
            WHEN r.fact_id IS NOT NULL THEN NOT r.knows_kid OR (r.thumbprint <> '' AND r.thumbprint <> o.thumbprint)
            ELSE coalesce(e.thumbprint, o.thumbprint) <> o.thumbprint
        END
)

SELECT
    x.agent,
    x.url,
    x.kid,
    x.is_new_kid,
    x.signature,
    x.receiver_basis,
    x.worked_at,
    x.began_at,
    x.fact_id,
    x.key_fact_id,
    x.fetched_fact_id
FROM explained AS x
WHERE x.nth = 1
