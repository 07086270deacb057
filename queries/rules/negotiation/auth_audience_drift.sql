-- title    = "An agent suddenly refuses credentials that it took before"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["exchanges.outcome", "exchanges.error_code or exchanges.error_reason or exchanges.outcome[observer=server] or task_events.snapshot[origin=reply] or task_events.reason_class"]
-- summary  = "{agent} refuses credentials that it took before: {count|refusal|refusals} of {parties}; its card asks for nothing new"
-- suspect  = "remote-runtime"
-- because  = "the refusals came past the gateway, from callers that had succeeded before; {why}"
-- next     = "Compare the audience, issuer and keys that {agent} checks with those in a refused token, and what was deployed just before the first refusal"
-- params   = { refusals = 5, successes = 10, window = "10 minutes", shown = 10 }
-- alert    = { keep = "15m" }
--
-- ## What it finds
-- From one moment on at least `refusals` refusals within `window`, of two principals that had succeeded before, or of one with `successes` successes before,
-- answered by the agent itself rather than by a gateway, while the security that its card declares did not change.
-- ## Why it matters
-- The card still tells callers to get the tokens that they have. They will fetch new ones of the same kind and fail again; at the gateway all is well.
-- ## First checks
-- 1. Compare `aud`, `iss` and `kid` of a refused token with the agent's settings.
-- 2. Was the agent, its key set or its identity provider changed just before the first refusal?
-- 3. Only some callers: compare their tokens with those of callers that go on succeeding.
-- ## When it is wrong
-- When several callers' tokens expire together and they do not renew them.
-- ## What it cannot see
-- Principals behind opaque tokens: there the callers count instead. Refusals that only the gateway's log shows.

WITH refused AS (
    SELECT
        r.agent,
        CASE WHEN r.principal <> '' THEN concat('principal ', r.principal) ELSE concat('client ', r.client) END AS party,
        r.principal = '' AS is_by_client,
        r.ok_before,
        r.last_ok_at,
        r.observed_at,
        r.fact_id
    FROM auth_refusals AS r
    WHERE r.ok_before > 0 AND NOT r.is_isolated
),

ordered AS (
    SELECT
        r.agent,
        r.party,
        r.is_by_client,
        r.ok_before,
        r.observed_at,
        r.fact_id,
        lag(r.party) OVER (PARTITION BY r.agent ORDER BY r.observed_at, r.fact_id) AS party_before,
        max(r.last_ok_at) OVER (
            PARTITION BY r.agent ORDER BY r.observed_at, r.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS last_ok_at,
        row_number() OVER (PARTITION BY r.agent ORDER BY r.observed_at, r.fact_id) AS nth
    FROM refused AS r
),

numbered AS (
    SELECT
        o.agent,
        o.ok_before,
        o.observed_at,
        o.fact_id,
        o.last_ok_at,
        o.nth,
        sum(CASE WHEN o.party = o.party_before THEN 0 ELSE 1 END) OVER (
            PARTITION BY o.agent ORDER BY o.observed_at, o.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS turn
    FROM ordered AS o
),

-- Enough refusals in a row and in time, of more than one party or of one that had done well for long, and no success of theirs since the first.
hits AS (
    SELECT
        a.agent,
        a.observed_at AS began_at,
        b.observed_at AS enough_at,
        b.last_ok_at,
        row_number() OVER (PARTITION BY a.agent ORDER BY a.observed_at, a.fact_id) AS nth
    FROM numbered AS a
    INNER JOIN numbered AS b ON a.agent = b.agent AND b.nth = a.nth + $refusals - 1
    WHERE
        b.observed_at <= a.observed_at + CAST($window AS INTERVAL)
        AND b.last_ok_at < a.observed_at
        AND (b.turn > a.turn OR b.ok_before >= $successes)
),

steps AS (
    SELECT
        h.agent,
        h.began_at,
        h.enough_at,
        h.last_ok_at
    FROM hits AS h
    WHERE h.nth = 1
),

since AS (
    SELECT
        s.agent,
        o.party,
        o.is_by_client,
        o.observed_at,
        o.fact_id,
        row_number() OVER (PARTITION BY s.agent ORDER BY o.observed_at, o.fact_id) AS nth
    FROM steps AS s
    INNER JOIN ordered AS o ON s.agent = o.agent AND o.observed_at >= s.began_at
),

told AS (
    SELECT
        n.agent,
        count(*) AS refusals,
        count(DISTINCT n.party) AS parties,
        bool_or(n.is_by_client) AS is_by_client,
        max(n.observed_at) AS last_seen,
        array_agg(n.fact_id ORDER BY n.nth, n.fact_id) FILTER (WHERE n.nth <= $shown) AS refusal_fact_ids
    FROM since AS n
    GROUP BY n.agent
),

looked AS (
    SELECT
        s.agent,
        max(CASE WHEN l.observed_at <= s.began_at THEN l.observed_at END) AS before_at,
        min(CASE WHEN l.observed_at > s.began_at THEN l.observed_at END) AS after_at
    FROM steps AS s
    INNER JOIN card_looks AS l ON s.agent = l.agent
    GROUP BY s.agent
),

seen AS (
    SELECT
        k.agent,
        max(CASE WHEN l.observed_at = k.before_at THEN l.fact_id END) AS card_before_fact_id,
        max(CASE WHEN l.observed_at = k.after_at THEN l.fact_id END) AS card_after_fact_id
    FROM looked AS k
    INNER JOIN card_looks AS l ON k.agent = l.agent AND l.observed_at IN (k.before_at, k.after_at)
    GROUP BY k.agent
)

SELECT
    s.agent,
    t.refusals AS "count",
    CASE
        WHEN t.parties = 1 AND t.is_by_client THEN 'one caller'
        WHEN t.parties = 1 THEN 'one principal'
        WHEN t.is_by_client THEN concat(CAST(t.parties AS VARCHAR), ' callers')
        ELSE concat(CAST(t.parties AS VARCHAR), ' principals')
    END AS parties,
    'warning' AS severity,
    CASE WHEN NOT t.is_by_client AND k.card_before_fact_id IS NOT NULL AND k.card_after_fact_id IS NOT NULL THEN 'confirmed' ELSE 'likely' END
        AS confidence,
    CASE
        WHEN k.card_before_fact_id IS NULL AND l.agent IS NOT NULL THEN 'its card was fetched, but its body was not recorded'
        WHEN k.card_before_fact_id IS NULL THEN 'no card of the agent was seen before'
        WHEN k.card_after_fact_id IS NULL THEN 'nobody looked at its card since'
        ELSE 'its card asks for the same security before and after'
    END AS why,
    s.enough_at AS observed_at,
    s.began_at AS first_seen,
    t.last_seen,
    t.refusal_fact_ids,
    k.card_before_fact_id,
    k.card_after_fact_id
FROM steps AS s
INNER JOIN told AS t ON s.agent = t.agent
LEFT JOIN seen AS k ON s.agent = k.agent
LEFT JOIN unread_looks AS l ON s.agent = l.agent AND s.began_at >= l.first_at
WHERE
    NOT EXISTS (
        SELECT 1 FROM card_generations AS g
        WHERE
            g.agent = s.agent AND g.security_before <> g.security_sha256
            AND g.valid_from > s.last_ok_at AND g.valid_from <= t.last_seen + CAST($window AS INTERVAL)
    )
