-- title    = "A card gave up an endpoint while tasks there were open"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["card_endpoints.url", "task_events.state"]
-- summary  = "{agent} moved from {endpoint} to {endpoints} with {names} still open there"
-- suspect  = "card-publisher"
-- because  = "{why}"
-- next     = "Keep {endpoint} up until {names} has ended, and ask for it at both endpoints: the new one may not know it"
-- params   = { named = 5 }
--
-- ## What it finds
-- Two looks by one observer at one url between which an endpoint was taken off the card, while a task whose calls went there was open. `count` is the number of such tasks.
-- ## Why it matters
-- Clients that read the card again ask the new endpoint for a task that lives behind the old one. It answers that there is no such task.
-- ## First checks
-- 1. Ask both endpoints for the named tasks.
-- 2. Do the two share a task store? Then only connections break.
-- 3. Look for lost_after_rotation and replica_split of the same agent.
-- ## When it is wrong
-- When both endpoints lead to the same runtime, as two names of one load balancer do.
-- ## What it cannot see
-- A move behind an unchanged url; a move at the moment when the shape of the card changes from 0.3 to 1.0.

WITH numbered AS (
    SELECT
        x.agent,
        x.task_id,
        x.endpoint,
        x.endpoints,
        x.moved_at,
        x.before_fact_id,
        x.after_fact_id,
        x.call_fact_id,
        x.is_known,
        row_number() OVER (PARTITION BY x.agent, x.after_fact_id, x.endpoint ORDER BY x.task_id, x.call_fact_id) AS nth
    FROM endpoint_crossings AS x
),

moved AS (
    SELECT
        n.agent,
        n.endpoint,
        n.endpoints,
        n.moved_at,
        n.before_fact_id,
        n.after_fact_id,
        count(*) AS tasks,
        bool_or(n.is_known) AS is_known,
        concat(
            string_agg(CASE WHEN n.nth <= $named THEN n.task_id END, ', ' ORDER BY n.nth, n.call_fact_id),
            CASE WHEN count(*) > $named THEN concat(' and ', CAST(count(*) - $named AS VARCHAR), ' more') ELSE '' END
        ) AS names,
        array_agg(n.task_id ORDER BY n.nth, n.call_fact_id) AS task_ids,
        array_agg(n.call_fact_id ORDER BY n.nth, n.call_fact_id) FILTER (WHERE n.nth <= $named) AS open_task_fact_ids
    FROM numbered AS n
    GROUP BY n.agent, n.endpoint, n.endpoints, n.moved_at, n.before_fact_id, n.after_fact_id
),

ranked AS (
    SELECT
        m.agent,
        m.endpoint,
        m.endpoints,
        m.moved_at,
        m.before_fact_id,
        m.after_fact_id,
        m.tasks,
        m.is_known,
        m.names,
        m.task_ids,
        m.open_task_fact_ids,
        max(m.moved_at) OVER (PARTITION BY m.agent) AS last_seen,
        row_number() OVER (
            PARTITION BY m.agent
            ORDER BY CASE WHEN m.is_known THEN 0 ELSE 1 END, m.tasks DESC NULLS LAST, m.moved_at, m.after_fact_id, m.endpoint
        ) AS rank
    FROM moved AS m
)

SELECT
    r.agent,
    r.endpoint,
    r.endpoints,
    r.names,
    r.task_ids,
    CASE
        WHEN r.is_known THEN 'the card no longer lists the endpoint that these tasks were last called at'
        ELSE 'the card no longer lists an endpoint, and nobody saw where these tasks were called'
    END AS why,
    CASE WHEN r.is_known THEN 'confirmed' ELSE 'likely' END AS confidence,
    r.tasks AS count,
    r.moved_at AS observed_at,
    r.moved_at AS first_seen,
    r.last_seen,
    r.before_fact_id,
    r.after_fact_id,
    r.open_task_fact_ids
FROM ranked AS r
WHERE r.rank = 1
