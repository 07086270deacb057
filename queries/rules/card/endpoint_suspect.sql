-- title    = "A card advertises an endpoint that its readers cannot or should not use"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["card_endpoints.url", "cards.url"]
-- summary  = "The card of {agent}, fetched at {card_url}, advertises {endpoint}: {what}"
-- suspect  = "card-publisher"
-- because  = "{why}"
-- next     = "Set the public url in the configuration of {agent}, or let the gateway rewrite every url field of its card; then fetch {card_url} again"
-- lasts    = true
--
-- ## What it finds
-- An advertised url that leads less far than the one at which the card was fetched (loopback, unspecified or link-local addresses, private
-- networks, single names and internal domains on a card from a public host), an `http` endpoint on a card that came over `https`, and a card whose fields of A2A 0.3 and
-- 1.0 name different hosts for the same transport. The last is critical where one of the two is the host that served the card: clients of the other dialect bypass the gateway.
-- `count` is the number of such endpoints.
-- ## Why it matters
-- The card resolves and every call fails; or calls pass by the gateway, its authentication and its log; or credentials travel in the clear.
-- ## First checks
-- 1. Fetch the card from outside and try the endpoint from there.
-- 2. Servers that build their url from the address they bind to do this behind every proxy: set the url.
-- 3. Two dialects, two hosts: a gateway that rewrites `url` and does not know `supportedInterfaces`.
-- ## When it is wrong
-- When readers in the same network fetch the card by its public name and reach the private address, as with split DNS.
-- ## What it cannot see
-- An address of the right kind that leads nowhere; where a card was fetched, in logs that do not say.

WITH looked AS (
    SELECT
        l.agent,
        l.url AS card_url,
        l.body_sha256,
        CASE l.host_class
            WHEN 'public' THEN 3 WHEN 'private' THEN 2 WHEN 'internal' THEN 2 WHEN 'single-label' THEN 2 WHEN 'link-local' THEN 1
            WHEN 'loopback' THEN 0 WHEN 'unspecified' THEN 0
        END AS reach,
        starts_with(lower(l.url), 'https://') AS is_https,
        regexp_replace(regexp_replace(lower(l.url), '^[a-z0-9.+-]+://', ''), '^\[?([^]/:]*|[0-9a-f:.]*)\]?(:[0-9]+)?(/.*)?$', '\1')
            AS card_host,
        min(l.observed_at) AS first_at,
        max(l.observed_at) AS last_at,
        min(l.fact_id) AS fact_id
    FROM card_looks AS l
    WHERE l.url <> ''
    GROUP BY l.agent, l.url, l.body_sha256, l.host_class
),

sites AS (
    SELECT
        e.body_sha256,
        e.url,
        e.binding,
        e.field,
        e.scheme,
        e.host,
        e.host_class,
        CASE e.host_class
            WHEN 'public' THEN 3 WHEN 'private' THEN 2 WHEN 'internal' THEN 2 WHEN 'single-label' THEN 2 WHEN 'link-local' THEN 1
            WHEN 'loopback' THEN 0 WHEN 'unspecified' THEN 0
        END AS reach
    FROM card_endpoints AS e
    WHERE e.host <> ''
),

-- Transports for which no host of the one dialect is a host of the other.
disagreed AS (
    SELECT
        o.body_sha256,
        o.binding,
        min(o.url) AS old_url,
        min(n.url) AS new_url
    FROM sites AS o
    INNER JOIN sites AS n ON o.body_sha256 = n.body_sha256 AND o.binding = n.binding
    WHERE o.field <> 'supportedInterfaces' AND n.field = 'supportedInterfaces'
    GROUP BY o.body_sha256, o.binding
    HAVING NOT bool_or(o.host = n.host)
),

served AS (
    SELECT
        l.agent,
        l.card_url,
        l.body_sha256,
        d.binding,
        d.old_url,
        d.new_url,
        bool_or(s.host = l.card_host AND s.field <> 'supportedInterfaces') AS old_is_here,
        bool_or(s.host = l.card_host AND s.field = 'supportedInterfaces') AS new_is_here
    FROM looked AS l
    INNER JOIN disagreed AS d ON l.body_sha256 = d.body_sha256
    INNER JOIN sites AS s ON d.body_sha256 = s.body_sha256 AND d.binding = s.binding
    GROUP BY l.agent, l.card_url, l.body_sha256, d.binding, d.old_url, d.new_url
),

problems AS (
    SELECT
        l.agent,
        l.card_url,
        l.body_sha256,
        s.url AS endpoint,
        'warning' AS severity,
        concat(
            CASE s.host_class
                WHEN 'loopback' THEN 'a loopback address' WHEN 'unspecified' THEN 'an address to listen on' WHEN
                    'link-local'
                    THEN 'a link-local address'
                WHEN 'private' THEN 'a private address' WHEN 'internal' THEN 'an internal name' ELSE 'a name without a domain'
            END,
            CASE WHEN l.reach = 3 THEN ' on a card from a public host' ELSE ' on a card from another host' END
        ) AS what,
        'who fetches the card from there reaches something else at this address, or nothing' AS why
    FROM looked AS l
    INNER JOIN sites AS s ON l.body_sha256 = s.body_sha256
    WHERE s.reach < l.reach
    UNION ALL
    SELECT
        l.agent,
        l.card_url,
        l.body_sha256,
        s.url AS endpoint,
        'warning' AS severity,
        'an http endpoint on a card fetched over https' AS what,
        'calls and their credentials would leave the protection that the card came under' AS why
    FROM looked AS l
    INNER JOIN sites AS s ON l.body_sha256 = s.body_sha256
    WHERE l.is_https AND s.scheme = 'http' AND s.reach >= l.reach
    UNION ALL
    SELECT
        v.agent,
        v.card_url,
        v.body_sha256,
        CASE WHEN v.new_is_here THEN v.old_url ELSE v.new_url END AS endpoint,
        CASE WHEN v.old_is_here OR v.new_is_here THEN 'critical' ELSE 'warning' END AS severity,
        CASE
            WHEN v.old_is_here THEN concat('clients of A2A 1.0 are sent past ', v.old_url)
            WHEN v.new_is_here THEN concat('clients of A2A 0.3 are sent past ', v.new_url)
            ELSE concat('clients of A2A 0.3 are sent to ', v.old_url)
        END AS what,
        CASE
            WHEN v.old_is_here OR v.new_is_here
                THEN 'the fields of one dialect name the host that served the card, those of the other name another host'
            ELSE 'the fields of A2A 0.3 and 1.0 name different hosts'
        END AS why
    FROM served AS v
),

ranked AS (
    SELECT
        p.agent,
        p.card_url,
        p.endpoint,
        p.severity,
        p.what,
        p.why,
        l.first_at,
        max(l.last_at) OVER (PARTITION BY p.agent) AS last_at,
        l.fact_id,
        row_number() OVER (
            PARTITION BY p.agent
            ORDER BY CASE WHEN p.severity = 'critical' THEN 0 ELSE 1 END, l.first_at, p.endpoint, p.what, p.card_url, l.fact_id
        ) AS rank
    FROM problems AS p
    INNER JOIN looked AS l ON p.agent = l.agent AND p.card_url = l.card_url AND p.body_sha256 = l.body_sha256
),

-- Where a card was looked at again and was good, and when first.
mended AS (
    SELECT
        b.agent,
        b.card_url,
        min(k.observed_at) AS mended_at
    FROM (
        SELECT
            p.agent,
            p.card_url,
            max(l.last_at) AS last_at
        FROM problems AS p
        INNER JOIN looked AS l ON p.agent = l.agent AND p.card_url = l.card_url AND p.body_sha256 = l.body_sha256
        GROUP BY p.agent, p.card_url
    ) AS b
    LEFT JOIN card_looks AS k ON b.agent = k.agent AND b.card_url = k.url AND b.last_at < k.observed_at
    GROUP BY b.agent, b.card_url
),

ends AS (
    SELECT
        m.agent,
        CASE WHEN count(*) = count(m.mended_at) THEN max(m.mended_at) END AS over_at
    FROM mended AS m
    GROUP BY m.agent
),

counted AS (
    SELECT
        p.agent,
        count(DISTINCT p.endpoint) AS endpoints,
        string_agg(DISTINCT p.endpoint, ', ' ORDER BY p.endpoint) AS all_endpoints
    FROM problems AS p
    GROUP BY p.agent
)

SELECT
    r.agent,
    r.card_url,
    r.endpoint,
    r.what,
    r.why,
    c.all_endpoints,
    CASE WHEN starts_with(r.what, 'clients') THEN 'gateway' ELSE 'card-publisher' END AS suspect,
    r.severity,
    'confirmed' AS confidence,
    c.endpoints AS count,
    r.first_at AS observed_at,
    r.first_at AS first_seen,
    r.last_at AS last_seen,
    e.over_at,
    r.fact_id AS card_fact_id
FROM ranked AS r
INNER JOIN counted AS c ON r.agent = c.agent
INNER JOIN ends AS e ON r.agent = e.agent
WHERE r.rank = 1
