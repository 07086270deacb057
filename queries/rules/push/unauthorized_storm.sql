-- title    = "A webhook refuses its deliveries"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["url"]
-- entity   = ["url", "started_at"]
-- needs    = ["push_deliveries.http_status"]
-- summary  = "{kind} at {url}: {count|delivery|deliveries} of {tasks_said} refused with 401 or 403"
-- suspect  = "webhook-receiver"
-- because  = "{why}"
-- next     = "Ask the owner of {url} what changed in its authentication; then read the results of the refused deliveries from {senders} with GetTask"
-- beside   = ["accepted", "recovered"]
-- params   = { window = "10 minutes", refusals = 10, dead = 2, share = 0.5, shown = 5 }
-- alert    = { keep = "15m" }
--
-- ## What it finds
-- A streak of refusals begins with a 401 or 403 after an accepted delivery (or after none). It is a storm when three distinct tasks are refused within
-- `window`, or `refusals` deliveries over at least `window`, and at least `share` of all deliveries at the url are refused in that time; streaks that begin within
-- `window` of a storm's refusals belong to it, and streaks that begin in one second are one: not every log is finer. Fewer refusals with nothing delivered between are a dead receiver, a note. One refusal is nothing.
-- ## Why it matters
-- The agents go on working and nobody hears of it: results are lost one by one, and senders that do not retry drop them for good.
-- ## First checks
-- 1. Were deliveries accepted before? Then the receiver's secret, keys or policy changed at the start of the streak.
-- 2. Is scheme_mismatch there too? Then the sender leaves out what was asked for.
-- 3. Several agents send to the url? Then the finding is of the url and of none of them; the evidence names each.
-- 4. One task only: its push config has a stale credential; make a new one.
-- ## When it is wrong
-- When somebody probes the webhook with tasks that are not its own.
-- ## What it cannot see
-- Tasks, where deliveries are taped as spans without bodies: a storm of short tasks then looks like a dead receiver.

WITH pressed AS (
    SELECT d.url
    FROM deliveries AS d
    WHERE d.url <> '' AND d.failure_class = 'auth'
    GROUP BY d.url
    HAVING count(*) >= $dead
),

told AS (
    SELECT
        d.url,
        d.agent,
        d.task_id,
        d.observed_at,
        d.fact_id,
        CASE WHEN d.failure_class = 'auth' THEN 1 ELSE 0 END AS is_refused,
        CASE WHEN d.failure_class = '' THEN 1 ELSE 0 END AS is_accepted
    FROM deliveries AS d
    INNER JOIN pressed AS p ON d.url = p.url
    WHERE NOT EXISTS (
        SELECT 1 FROM rotated_keys AS r
        WHERE r.url = d.url AND r.agent = d.agent AND r.kid = d.kid AND d.failure_class = 'auth' AND d.observed_at >= r.began_at
    )
),

numbered AS (
    SELECT
        t.url,
        t.agent,
        t.task_id,
        t.observed_at,
        t.fact_id,
        t.is_refused,
        t.is_accepted,
        sum(1) OVER (
            PARTITION BY t.url ORDER BY t.observed_at, t.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS told_n,
        sum(t.is_refused) OVER (
            PARTITION BY t.url ORDER BY t.observed_at, t.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS refused_n,
        sum(t.is_accepted) OVER (
            PARTITION BY t.url ORDER BY t.observed_at, t.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS streak
    FROM told AS t
),

refusals AS (
    SELECT
        n.url,
        n.agent,
        n.task_id,
        n.observed_at,
        n.fact_id,
        n.told_n,
        n.refused_n,
        n.streak,
        min(n.observed_at) OVER (PARTITION BY n.url, n.streak) AS streak_at,
        min(n.told_n) OVER (PARTITION BY n.url, n.streak) AS streak_told_n,
        min(n.refused_n) OVER (PARTITION BY n.url, n.streak) AS streak_refused_n,
        lag(n.task_id) OVER (PARTITION BY n.url, n.task_id = '' ORDER BY n.observed_at, n.fact_id) AS task_before
    FROM numbered AS n
    WHERE n.is_refused = 1
),

-- Three distinct tasks: refusals of one task in a row are a run, so that of three neighbouring runs the outer ones tell.
marked AS (
    SELECT
        r.url,
        r.task_id,
        r.observed_at,
        r.fact_id,
        r.told_n,
        r.refused_n,
        r.streak_at,
        sum(CASE WHEN r.task_before IS NULL OR r.task_before <> r.task_id THEN 1 ELSE 0 END) OVER (
            PARTITION BY r.url ORDER BY r.observed_at, r.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run
    FROM refusals AS r
    WHERE r.task_id <> ''
),

runs AS (
    SELECT
        m.url,
        m.run,
        min(m.task_id) AS task_id,
        min(m.observed_at) AS first_at,
        max(m.observed_at) AS last_at,
        max(m.told_n) AS last_told_n,
        max(m.refused_n) AS last_refused_n,
        max(m.streak_at) AS last_streak_at,
        min(m.fact_id) AS fact_id
    FROM marked AS m
    GROUP BY m.url, m.run
),

triples AS (
    SELECT
        r.url,
        r.task_id,
        r.first_at AS hit_at,
        r.fact_id,
        lag(r.task_id, 2) OVER (PARTITION BY r.url ORDER BY r.run, r.fact_id) AS other_task_id,
        lag(r.last_at, 2) OVER (PARTITION BY r.url ORDER BY r.run, r.fact_id) AS anchor_at,
        lag(r.last_told_n, 2) OVER (PARTITION BY r.url ORDER BY r.run, r.fact_id) AS anchor_told_n,
        lag(r.last_refused_n, 2) OVER (PARTITION BY r.url ORDER BY r.run, r.fact_id) AS anchor_refused_n,
        lag(r.last_streak_at, 2) OVER (PARTITION BY r.url ORDER BY r.run, r.fact_id) AS streak_at
    FROM runs AS r
),

-- How many deliveries there were by the end of each triple's window: the running counts, read off at that instant.
clock AS (
    SELECT
        n.url,
        n.observed_at,
        0 AS is_probe,
        n.fact_id,
        n.told_n,
        n.refused_n,
        CAST(NULL AS BIGINT) AS anchor_told_n,
        CAST(NULL AS BIGINT) AS anchor_refused_n,
        n.observed_at AS streak_at,
        n.observed_at AS hit_at
    FROM numbered AS n
    UNION ALL
    SELECT
        t.url,
        t.anchor_at + CAST($window AS INTERVAL) AS observed_at,
        1 AS is_probe,
        t.fact_id,
        CAST(NULL AS BIGINT) AS told_n,
        CAST(NULL AS BIGINT) AS refused_n,
        t.anchor_told_n,
        t.anchor_refused_n,
        t.streak_at,
        t.hit_at
    FROM triples AS t
    WHERE t.other_task_id <> t.task_id AND t.hit_at <= t.anchor_at + CAST($window AS INTERVAL)
),

probed AS (
    SELECT
        c.url,
        c.is_probe,
        c.fact_id,
        c.streak_at,
        c.hit_at,
        c.anchor_told_n,
        c.anchor_refused_n,
        max(c.told_n) OVER (
            PARTITION BY c.url ORDER BY c.observed_at, c.is_probe, c.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS told_n,
        max(c.refused_n) OVER (
            PARTITION BY c.url ORDER BY c.observed_at, c.is_probe, c.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS refused_n
    FROM clock AS c
),

hits AS (
    SELECT
        p.url,
        p.streak_at,
        p.hit_at,
        p.fact_id
    FROM probed AS p
    WHERE p.is_probe = 1 AND p.refused_n - p.anchor_refused_n + 1 >= $share * (p.told_n - p.anchor_told_n + 1)
    UNION ALL
    SELECT
        r.url,
        r.streak_at,
        r.observed_at AS hit_at,
        r.fact_id
    FROM refusals AS r
    WHERE
        r.refused_n - r.streak_refused_n + 1 >= $refusals AND r.observed_at >= r.streak_at + CAST($window AS INTERVAL)
        AND r.refused_n - r.streak_refused_n + 1 >= $share * (r.told_n - r.streak_told_n + 1)
),

chained AS (
    SELECT
        h.url,
        h.streak_at,
        h.hit_at,
        h.fact_id,
        max(h.hit_at) OVER (
            PARTITION BY h.url ORDER BY h.streak_at, h.hit_at, h.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS hit_before_at
    FROM hits AS h
),

grouped AS (
    SELECT
        c.url,
        c.streak_at,
        c.hit_at,
        sum(CASE WHEN c.hit_before_at IS NULL OR c.streak_at > c.hit_before_at + CAST($window AS INTERVAL) THEN 1 ELSE 0 END) OVER (
            PARTITION BY c.url ORDER BY c.streak_at, c.hit_at, c.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS storm
    FROM chained AS c
),

storms AS (
    SELECT
        g.url,
        g.storm,
        min(g.streak_at) AS started_at,
        min(g.hit_at) AS judged_at,
        max(g.hit_at) AS last_hit_at
    FROM grouped AS g
    GROUP BY g.url, g.storm
),

streaks AS (
    SELECT
        r.url,
        r.streak,
        r.streak_at,
        min(r.fact_id) AS fact_id
    FROM refusals AS r
    GROUP BY r.url, r.streak, r.streak_at
),

-- The last storm that began by the start of a streak.
begun AS (
    SELECT
        t.url,
        t.streak,
        t.streak_at,
        max(t.storm) OVER (
            PARTITION BY t.url ORDER BY t.streak_at, t.storm DESC NULLS LAST, t.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS storm
    FROM (
        SELECT
            s.url,
            CAST(NULL AS BIGINT) AS streak,
            s.started_at AS streak_at,
            s.storm,
            '' AS fact_id
        FROM storms AS s
        UNION ALL
        SELECT
            k.url,
            k.streak,
            k.streak_at,
            CAST(NULL AS BIGINT) AS storm,
            k.fact_id
        FROM streaks AS k
    ) AS t
),

placed AS (
    SELECT
        r.url,
        r.agent,
        r.task_id,
        r.observed_at,
        r.fact_id,
        r.streak,
        s.judged_at,
        date_trunc('second', coalesce(s.started_at, r.streak_at)) AS started_at,
        row_number() OVER (
            PARTITION BY r.url, date_trunc('second', coalesce(s.started_at, r.streak_at)), r.task_id ORDER BY r.observed_at, r.fact_id
        ) AS nth_of_task
    FROM refusals AS r
    INNER JOIN begun AS b ON r.url = b.url AND r.streak = b.streak
    LEFT JOIN storms AS s ON b.url = s.url AND b.storm = s.storm AND b.streak_at <= s.last_hit_at + CAST($window AS INTERVAL)
),

ranked AS (
    SELECT
        p.url,
        p.agent,
        p.task_id,
        p.observed_at,
        p.fact_id,
        p.streak,
        p.judged_at,
        p.started_at,
        row_number() OVER (PARTITION BY p.url, p.started_at ORDER BY p.observed_at, p.fact_id) AS nth,
        row_number() OVER (PARTITION BY p.url, p.started_at ORDER BY p.nth_of_task, p.observed_at, p.fact_id) AS nth_shown
    FROM placed AS p
),

counted AS (
    SELECT
        r.url,
        r.started_at,
        count(DISTINCT CASE WHEN r.agent <> '' THEN r.agent END) AS agents,
        min(CASE WHEN r.agent <> '' THEN r.agent END) AS first_agent,
        max(r.agent) AS last_agent,
        min(r.judged_at) AS judged_at,
        max(CASE WHEN r.nth = 2 THEN r.observed_at END) AS second_at,
        min(r.observed_at) AS first_seen,
        max(r.observed_at) AS last_seen,
        min(r.streak) AS first_streak,
        max(r.streak) AS last_streak,
        count(*) AS count,
        count(DISTINCT CASE WHEN r.task_id <> '' THEN r.task_id END) AS tasks,
        array_agg(r.fact_id ORDER BY r.observed_at, r.fact_id) FILTER (WHERE r.nth_shown <= $shown) AS refused_fact_ids
    FROM ranked AS r
    GROUP BY r.url, r.started_at
    HAVING count(*) >= $dead
),

-- Each accepted delivery begins a streak.
accepted AS (
    SELECT
        n.url,
        n.streak,
        n.fact_id
    FROM numbered AS n
    WHERE n.is_accepted = 1
)

SELECT
    c.url,
    CASE c.agents WHEN 1 THEN c.last_agent ELSE '' END AS agent,
    CASE c.agents
        WHEN 0 THEN 'the agent that sent them'
        WHEN 1 THEN c.last_agent
        WHEN 2 THEN concat(c.first_agent, ' and ', c.last_agent)
        ELSE concat(c.first_agent, ', ', c.last_agent, ' and ', CAST(c.agents - 2 AS VARCHAR), ' more')
    END AS senders,
    c.started_at,
    CASE WHEN c.judged_at IS NULL THEN 'dead receiver' ELSE 'storm of refusals' END AS kind,
    CASE c.tasks WHEN 0 THEN 'tasks that are not named' WHEN 1 THEN 'one task' ELSE concat(CAST(c.tasks AS VARCHAR), ' tasks') END AS tasks_said,
    c.count,
    c.tasks,
    CASE WHEN c.judged_at IS NULL THEN 'info' ELSE 'critical' END AS severity,
    CASE WHEN c.judged_at IS NULL THEN 'likely' ELSE 'confirmed' END AS confidence,
    concat(
        CASE WHEN coalesce(a.fact_id, '') = '' THEN 'no delivery at this url was seen to be accepted before' ELSE 'the url accepted deliveries until then' END,
        CASE WHEN coalesce(n.fact_id, '') = '' THEN ' or since' ELSE ', and does so again' END
    ) AS why,
    coalesce(c.judged_at, c.second_at) AS observed_at,
    c.first_seen,
    c.last_seen,
    c.refused_fact_ids,
    coalesce(a.fact_id, '') AS accepted_fact_id,
    coalesce(n.fact_id, '') AS recovered_fact_id
FROM counted AS c
LEFT JOIN accepted AS a ON c.url = a.url AND c.first_streak = a.streak
LEFT JOIN accepted AS n ON c.url = n.url AND c.last_streak + 1 = n.streak
