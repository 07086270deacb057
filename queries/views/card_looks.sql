-- title = "Successful looks at a card, each with the body it stands for"
-- by    = ["agent"]
--
-- A 304 stands for the body that the same party saw last at the same card, unless its ETag is that of another body which somebody saw before. A
-- failed fetch is no look and changes nothing. `tag` is the ETag without weakness mark and the suffix that a compressing proxy adds.

WITH tagged AS (
    SELECT
        c.agent,
        c.client,
        c.principal,
        c.tenant,
        coalesce(c.extended, FALSE) AS extended,
        c.fact_id,
        c.observed_at,
        c.observer,
        c.observer_name,
        c.url,
        c.host_class,
        c.origin,
        coalesce(c.not_modified, FALSE) AND c.body_sha256 = '' AS not_modified,
        c.body_sha256,
        regexp_replace(regexp_replace(c.etag, '^W/', ''), '(-|--)(gzip|br|zstd|deflate)"$', '"') AS tag
    FROM cards AS c
    WHERE c.body_sha256 <> '' OR coalesce(c.not_modified, FALSE)
),

grouped AS (
    SELECT
        t.agent,
        t.client,
        t.principal,
        t.tenant,
        t.extended,
        t.fact_id,
        t.observed_at,
        t.observer,
        t.observer_name,
        t.url,
        t.host_class,
        t.origin,
        t.not_modified,
        t.body_sha256,
        t.tag,
        count(CASE WHEN t.body_sha256 <> '' THEN 1 END) OVER (
            PARTITION BY t.agent, t.client, t.principal, t.tenant, t.extended
            ORDER BY t.observed_at, t.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS nth_body
    FROM tagged AS t
),

own AS (
    SELECT
        g.agent,
        g.client,
        g.principal,
        g.tenant,
        g.extended,
        g.fact_id,
        g.observed_at,
        g.observer,
        g.observer_name,
        g.url,
        g.host_class,
        g.origin,
        g.not_modified,
        g.tag,
        max(g.body_sha256) OVER (PARTITION BY g.agent, g.client, g.principal, g.tenant, g.extended, g.nth_body) AS body_sha256,
        max(CASE WHEN g.body_sha256 <> '' THEN g.tag ELSE '' END)
            OVER (PARTITION BY g.agent, g.client, g.principal, g.tenant, g.extended, g.nth_body) AS body_tag
    FROM grouped AS g
),

others AS (
    SELECT
        o.agent,
        o.fact_id,
        t.body_sha256,
        row_number() OVER (PARTITION BY o.agent, o.fact_id ORDER BY t.observed_at DESC NULLS LAST, t.fact_id) AS nth
    FROM own AS o
    INNER JOIN tagged AS t ON o.agent = t.agent AND o.extended = t.extended AND o.tag = t.tag AND o.observed_at >= t.observed_at
    WHERE o.not_modified AND o.tag <> '' AND o.tag <> o.body_tag AND t.body_sha256 <> ''
),

resolved AS (
    SELECT
        o.agent,
        o.client,
        o.principal,
        o.tenant,
        o.extended,
        o.fact_id,
        o.observed_at,
        o.observer,
        o.observer_name,
        o.url,
        o.host_class,
        o.origin,
        o.not_modified,
        coalesce(t.body_sha256, o.body_sha256) AS body_sha256
    FROM own AS o
    LEFT JOIN others AS t ON o.agent = t.agent AND o.fact_id = t.fact_id AND t.nth = 1
),

bodies AS (
    SELECT
        c.agent,
        c.body_sha256,
        max(c.version) AS version,
        max(c.dialect) AS dialect,
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
    r.tenant,
    r.extended,
    r.fact_id,
    r.observed_at,
    r.observer,
    r.observer_name,
    r.url,
    r.host_class,
    r.origin,
    r.not_modified,
    r.body_sha256,
    b.version,
    b.dialect,
    b.contract_sha256,
    b.security_sha256,
    b.streaming,
    b.push_notifications
FROM resolved AS r
INNER JOIN bodies AS b ON r.agent = b.agent AND r.body_sha256 = b.body_sha256
