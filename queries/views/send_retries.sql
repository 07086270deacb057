-- title = "Sends that went on after a refusal for lack of authorization, with the client looking at nothing between"
-- by    = ["client", "agent"]
-- params = { apart = "30 seconds" }
--
-- The client's own accepted send, read of a task or look at the card begins a new stretch. A row is a stretch whose first and a later refusal lie at
-- least `apart`. `url` is where the client sent.

WITH pressed AS (
    SELECT
        x.client,
        x.agent,
        max(CASE WHEN starts_with(x.agent_ref, 'http') THEN x.agent_ref ELSE '' END) AS url
    FROM exchanges AS x
    WHERE x.outcome = 'auth' AND x.operation IN ('SendMessage', 'SendStreamingMessage')
    GROUP BY x.client, x.agent
    HAVING max(x.observed_at) >= min(x.observed_at) + CAST($apart AS INTERVAL)
),

moments AS (
    SELECT
        p.client,
        p.agent,
        x.observed_at,
        x.fact_id,
        CASE WHEN x.outcome = 'auth' THEN 0 ELSE 1 END AS is_reset
    FROM pressed AS p
    INNER JOIN exchanges AS x ON p.client = x.client AND p.agent = x.agent
    WHERE
        (x.operation IN ('SendMessage', 'SendStreamingMessage') AND x.outcome IN ('ok', 'auth'))
        OR (x.operation IN ('GetTask', 'ListTasks', 'SubscribeToTask', 'GetExtendedAgentCard') AND x.outcome = 'ok')
    UNION ALL
    SELECT
        p.client,
        p.agent,
        l.observed_at,
        l.fact_id,
        1 AS is_reset
    FROM pressed AS p
    INNER JOIN card_looks AS l ON p.client = l.client AND p.agent = l.agent
),

stretches AS (
    SELECT
        m.client,
        m.agent,
        m.observed_at,
        m.fact_id,
        m.is_reset,
        sum(m.is_reset) OVER (
            PARTITION BY m.client, m.agent
            ORDER BY m.observed_at, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS stretch
    FROM moments AS m
),

refused AS (
    SELECT
        s.client,
        s.agent,
        s.stretch,
        s.observed_at,
        s.fact_id,
        min(s.observed_at) OVER (PARTITION BY s.client, s.agent, s.stretch) AS first_at,
        row_number() OVER (PARTITION BY s.client, s.agent, s.stretch ORDER BY s.observed_at, s.fact_id) AS nth
    FROM stretches AS s
    WHERE s.is_reset = 0
),

judged AS (
    SELECT
        r.client,
        r.agent,
        r.stretch,
        min(r.observed_at) AS first_at,
        min(CASE WHEN r.observed_at >= r.first_at + CAST($apart AS INTERVAL) THEN r.observed_at END) AS retried_at,
        max(r.observed_at) AS last_at,
        count(*) AS refusals,
        max(CASE WHEN r.nth = 1 THEN r.fact_id ELSE '' END) AS first_fact_id
    FROM refused AS r
    GROUP BY r.client, r.agent, r.stretch
    HAVING max(r.observed_at) >= min(r.observed_at) + CAST($apart AS INTERVAL)
)

SELECT
    j.client,
    j.agent,
    p.url,
    j.first_at,
    j.retried_at,
    j.last_at,
    j.refusals,
    j.first_fact_id,
    max(r.fact_id) AS retry_fact_id
FROM judged AS j
INNER JOIN pressed AS p ON j.client = p.client AND j.agent = p.agent
INNER JOIN refused AS r
    ON j.client = r.client AND j.agent = r.agent AND j.stretch = r.stretch AND j.retried_at = r.observed_at
GROUP BY j.client, j.agent, p.url, j.first_at, j.retried_at, j.last_at, j.refusals, j.first_fact_id
