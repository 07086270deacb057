-- title = "Endpoints that are gone from the looks fetched at one url"
-- by    = ["agent"]
--
-- One row a change and endpoint gone. Only looks by one observer, at one url, for one identity, in one shape are compared: a gateway may
-- rewrite urls, and the 0.3 and the 1.0 shape of a card may list others. Endpoints are compared without closing slash and without the port that the
-- scheme implies. `endpoints` are those of the card after.

WITH followed AS (
    SELECT
        l.agent,
        l.principal,
        l.url,
        l.body_sha256,
        l.observed_at,
        l.fact_id,
        lag(l.body_sha256) OVER (
            PARTITION BY l.agent, l.tenant, l.principal, l.extended, l.observer, l.observer_name, l.url, l.dialect
            ORDER BY l.observed_at, l.fact_id
        ) AS body_before,
        lag(l.fact_id) OVER (
            PARTITION BY l.agent, l.tenant, l.principal, l.extended, l.observer, l.observer_name, l.url, l.dialect
            ORDER BY l.observed_at, l.fact_id
        ) AS fact_before
    FROM card_looks AS l
),

changed AS (
    SELECT
        f.agent,
        f.principal,
        f.url,
        f.body_sha256,
        f.observed_at,
        f.fact_id,
        f.body_before,
        f.fact_before
    FROM followed AS f
    WHERE f.body_before <> f.body_sha256
),

sites AS (
    SELECT
        e.body_sha256,
        e.binding,
        regexp_replace(
            regexp_replace(regexp_replace(e.url, '^(http://[^/]*):80(/|$)', '\1\2'), '^(https://[^/]*):443(/|$)', '\1\2'), '/+$', ''
        ) AS endpoint
    FROM card_endpoints AS e
    WHERE e.url <> ''
),

named AS (
    SELECT
        s.body_sha256,
        string_agg(DISTINCT s.endpoint, ', ' ORDER BY s.endpoint) AS endpoints
    FROM sites AS s
    GROUP BY s.body_sha256
)

SELECT DISTINCT
    c.agent,
    c.principal,
    c.url AS card_url,
    s.endpoint,
    n.endpoints,
    c.observed_at AS moved_at,
    c.fact_before AS before_fact_id,
    c.fact_id AS after_fact_id
FROM changed AS c
INNER JOIN sites AS s ON c.body_before = s.body_sha256
INNER JOIN named AS n ON c.body_sha256 = n.body_sha256
WHERE NOT EXISTS (SELECT 1 FROM sites AS k WHERE k.body_sha256 = c.body_sha256 AND k.endpoint = s.endpoint)
