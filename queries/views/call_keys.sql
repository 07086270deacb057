-- title = "One key for every observation of the same call"
-- by    = ["agent", "content_hash"]
-- params = { pairing = "2 seconds" }
--
-- Exact keys come with the facts: the caller's span, else JSON-RPC id and message id. Only messages for which that is not enough are looked at
-- closely. A tap that saw a call end and then the same one begin again saw two calls; one that saw it within itself (both legs of a gateway) saw one.
-- A tap without the caller's span pairs its n-th sending of a message with the n-th of a tap that has it. What has no key at all pairs by content:
-- the n-th observation by one tap with the n-th by another, within a run of observations that are at most `pairing` apart. What has neither is a call
-- of its own.

WITH close AS (
    SELECT
        x.agent,
        x.content_hash,
        x.message_id
    FROM exchanges AS x
    WHERE x.content_hash <> ''
    GROUP BY x.agent, x.content_hash, x.message_id
    HAVING
        bool_or(x.call_id = '') OR min(x.call_id) <> max(x.call_id)
        OR count(*) > count(DISTINCT concat(x.observer, ' ', x.observer_name, ' ', x.source))
),

spaced AS (
    SELECT
        x.agent,
        x.content_hash,
        x.message_id,
        x.call_id,
        x.fact_id,
        x.observer,
        x.observer_name,
        x.source,
        x.observed_at,
        lag(x.observed_at) OVER (
            PARTITION BY x.agent, x.content_hash, x.call_id
            ORDER BY x.observed_at, x.fact_id
        ) AS before_at,
        max(coalesce(x.ended_at, x.observed_at)) OVER (
            PARTITION BY x.agent, x.content_hash, x.call_id, x.observer, x.observer_name, x.source
            ORDER BY x.observed_at, x.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS call_until,
        max(coalesce(x.ended_at, x.observed_at)) OVER (
            PARTITION BY x.agent, x.content_hash, x.message_id, x.observer, x.observer_name, x.source
            ORDER BY x.observed_at, x.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS message_until
    FROM exchanges AS x
    INNER JOIN close AS c ON x.agent = c.agent AND x.content_hash = c.content_hash AND x.message_id = c.message_id
),

counted AS (
    SELECT
        s.agent,
        s.content_hash,
        s.message_id,
        s.call_id,
        s.fact_id,
        s.observer,
        s.observer_name,
        s.source,
        s.observed_at,
        sum(CASE WHEN s.before_at IS NULL OR s.observed_at > s.before_at + CAST($pairing AS INTERVAL) THEN 1 ELSE 0 END) OVER (
            PARTITION BY s.agent, s.content_hash, s.call_id
            ORDER BY s.observed_at, s.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run,
        sum(CASE WHEN s.call_until IS NULL OR s.observed_at > s.call_until THEN 1 ELSE 0 END) OVER (
            PARTITION BY s.agent, s.content_hash, s.call_id, s.observer, s.observer_name, s.source
            ORDER BY s.observed_at, s.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS nth_of_call,
        sum(CASE WHEN s.message_until IS NULL OR s.observed_at > s.message_until THEN 1 ELSE 0 END) OVER (
            PARTITION BY s.agent, s.content_hash, s.message_id, s.observer, s.observer_name, s.source
            ORDER BY s.observed_at, s.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS nth_of_message
    FROM spaced AS s
),

named AS (
    SELECT
        c.agent,
        c.content_hash,
        c.message_id,
        c.call_id,
        c.fact_id,
        c.nth_of_message,
        CASE
            WHEN c.call_id = '' THEN ''
            WHEN c.nth_of_call = 1 THEN c.call_id
            ELSE concat(c.call_id, ' again ', CAST(c.nth_of_call AS VARCHAR))
        END AS own_key,
        row_number() OVER (
            PARTITION BY c.agent, c.content_hash, c.call_id, c.run, c.observer, c.observer_name, c.source
            ORDER BY c.observed_at, c.fact_id
        ) AS nth_of_run,
        min(c.fact_id) OVER (PARTITION BY c.agent, c.content_hash, c.call_id, c.run) AS run_key
    FROM counted AS c
),

paired AS (
    SELECT
        n.agent,
        n.content_hash,
        n.message_id,
        n.call_id,
        n.fact_id,
        n.own_key,
        n.nth_of_run,
        n.run_key,
        min(CASE WHEN starts_with(n.call_id, 'span:') THEN n.own_key END)
            OVER (PARTITION BY n.agent, n.content_hash, n.message_id, n.nth_of_message) AS span_key
    FROM named AS n
)

SELECT
    p.agent,
    p.content_hash,
    p.fact_id,
    CASE
        WHEN starts_with(p.call_id, 'span:') THEN p.own_key
        WHEN p.message_id <> '' AND p.span_key IS NOT NULL THEN p.span_key
        WHEN p.call_id <> '' THEN p.own_key
        ELSE concat('content:', p.run_key, ':', CAST(p.nth_of_run AS VARCHAR))
    END AS call_key
FROM paired AS p
UNION ALL
SELECT
    x.agent,
    x.content_hash,
    x.fact_id,
    CASE WHEN x.call_id <> '' THEN x.call_id ELSE concat('fact:', x.fact_id) END AS call_key
FROM exchanges AS x
WHERE
    NOT EXISTS (
        SELECT 1 FROM close AS c
        WHERE c.agent = x.agent AND c.content_hash = x.content_hash AND c.message_id = x.message_id
    )
