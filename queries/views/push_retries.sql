-- title = "Deliveries of one task that went on after a refusal with nobody looking at the task or the card"
-- by    = ["agent", "task_id"]
-- marks = { card_looks = { on = ["agent"] } }
-- params = { apart = "30 seconds" }
--
-- An accepted delivery, a read of the task or of its webhook registrations by anyone, and a look at the agent's card begin a new stretch. A row is a
-- stretch whose first and a later refusal lie at least `apart`. Where the clock of the receiver is not that of the others (`strange_clocks`), what lies
-- between cannot be told.

WITH pressed AS (
    SELECT
        d.agent,
        d.task_id,
        d.url,
        min(d.observed_at) AS first_at,
        max(d.observed_at) AS last_at
    FROM deliveries AS d
    WHERE
        d.task_id <> '' AND d.url <> '' AND d.failure_class = 'auth'
        AND NOT EXISTS (SELECT 1 FROM strange_clocks AS s WHERE s.agent = d.agent AND s.task_id = d.task_id)
    GROUP BY d.agent, d.task_id, d.url
    HAVING max(d.observed_at) >= min(d.observed_at) + CAST($apart AS INTERVAL)
),

-- Looks are found by the day, so that those of all times are not held against every task.
look_days AS (
    SELECT
        l.agent,
        date_trunc('day', l.observed_at) AS day,
        min(l.observed_at) AS first_at,
        max(l.observed_at) AS last_at
    FROM card_looks AS l
    GROUP BY l.agent, date_trunc('day', l.observed_at)
),

moments AS (
    SELECT
        p.agent,
        p.task_id,
        p.url,
        d.observed_at,
        d.fact_id,
        CASE WHEN d.failure_class = '' THEN 1 ELSE 0 END AS is_reset
    FROM pressed AS p
    INNER JOIN deliveries AS d ON p.agent = d.agent AND p.task_id = d.task_id AND p.url = d.url
    WHERE d.failure_class IN ('', 'auth')
    UNION ALL
    SELECT
        p.agent,
        p.task_id,
        p.url,
        x.observed_at,
        x.fact_id,
        1 AS is_reset
    FROM pressed AS p
    INNER JOIN exchanges AS x ON p.agent = x.agent AND p.task_id = x.task_id
    WHERE
        x.outcome IN ('ok', 'not-found')
        AND x.operation IN (
            'GetTask',
            'SubscribeToTask',
            'GetTaskPushNotificationConfig',
            'ListTaskPushNotificationConfigs',
            'CreateTaskPushNotificationConfig'
        )
    UNION ALL
    SELECT
        p.agent,
        p.task_id,
        p.url,
        e.observed_at,
        e.fact_id,
        1 AS is_reset
    FROM pressed AS p
    INNER JOIN task_events AS e ON p.agent = e.agent AND p.task_id = e.task_id
    WHERE e.origin = 'poll'
    UNION ALL
    SELECT
        p.agent,
        p.task_id,
        p.url,
        l.observed_at,
        l.fact_id,
        1 AS is_reset
    FROM pressed AS p
    INNER JOIN look_days AS k ON p.agent = k.agent AND p.first_at <= k.last_at AND p.last_at >= k.first_at
    INNER JOIN card_looks AS l
        ON p.agent = l.agent AND k.day = date_trunc('day', l.observed_at) AND l.observed_at >= p.first_at AND l.observed_at <= p.last_at
),

stretches AS (
    SELECT
        m.agent,
        m.task_id,
        m.url,
        m.observed_at,
        m.fact_id,
        m.is_reset,
        sum(m.is_reset) OVER (
            PARTITION BY m.agent, m.task_id, m.url
            ORDER BY m.observed_at, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS stretch
    FROM moments AS m
),

refused AS (
    SELECT
        s.agent,
        s.task_id,
        s.url,
        s.stretch,
        s.observed_at,
        s.fact_id,
        min(s.observed_at) OVER (PARTITION BY s.agent, s.task_id, s.url, s.stretch) AS first_at,
        row_number() OVER (PARTITION BY s.agent, s.task_id, s.url, s.stretch ORDER BY s.observed_at, s.fact_id) AS nth
    FROM stretches AS s
    WHERE s.is_reset = 0
),

judged AS (
    SELECT
        r.agent,
        r.task_id,
        r.url,
        r.stretch,
        min(r.observed_at) AS first_at,
        min(CASE WHEN r.observed_at >= r.first_at + CAST($apart AS INTERVAL) THEN r.observed_at END) AS retried_at,
        max(r.observed_at) AS last_at,
        count(*) AS refusals,
        max(CASE WHEN r.nth = 1 THEN r.fact_id ELSE '' END) AS first_fact_id
    FROM refused AS r
    GROUP BY r.agent, r.task_id, r.url, r.stretch
    HAVING max(r.observed_at) >= min(r.observed_at) + CAST($apart AS INTERVAL)
)

SELECT
    j.agent,
    j.task_id,
    j.url,
    j.first_at,
    j.retried_at,
    j.last_at,
    j.refusals,
    j.first_fact_id,
    max(r.fact_id) AS retry_fact_id
FROM judged AS j
INNER JOIN refused AS r
    ON j.agent = r.agent AND j.task_id = r.task_id AND j.url = r.url AND j.stretch = r.stretch AND j.retried_at = r.observed_at
GROUP BY j.agent, j.task_id, j.url, j.first_at, j.retried_at, j.last_at, j.refusals, j.first_fact_id
