-- title    = "An agent lost tasks that were still running"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent", "incident"]
-- needs    = ["exchanges.outcome", "exchanges.operation", "exchanges.task_id", "task_events.state"]
-- summary  = "{agent} no longer knows {what}: {task_ids}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "Submit the work of {task_ids} again, after checking what of it was already done, and give {agent} a store that outlives it"
-- params   = { instant = "10 minutes" }
--
-- ## What it finds
-- Tasks that the agent last told of as not ended and that it then answers as not found: together after a change of its card, or all within ten minutes.
-- ## Why it matters
-- No task says that it failed. Callers wait for pushes that never come; paused work, such as an approval, is gone.
-- ## First checks
-- 1. Look for a deployment or restart of the agent between the last sight of the tasks and the first answer without them.
-- 2. Ask for the ids once more: found again means replicas that do not share tasks; see replica_split.
-- 3. Look for side effects of the lost tasks before their work is submitted again.
-- ## When it is wrong
-- When tasks ended unseen and the agent forgets ended tasks soon; `likely` marks losses long after the last sight.
-- ## What it cannot see
-- Lost tasks that nobody asks for; they look orphaned.

WITH dated AS (
    SELECT
        l.agent,
        l.task_id,
        l.state,
        l.seen_at,
        l.seen_fact_id,
        l.lost_at,
        l.missing_fact_id,
        max(g.valid_from) AS changed_at
    FROM lost_tasks AS l
    LEFT JOIN card_generations AS g
        ON l.agent = g.agent AND g.fact_before IS NOT NULL AND l.seen_at < g.valid_from AND l.lost_at >= g.valid_from
    GROUP BY l.agent, l.task_id, l.state, l.seen_at, l.seen_fact_id, l.lost_at, l.missing_fact_id
),

spaced AS (
    SELECT
        d.agent,
        d.task_id,
        d.state,
        d.seen_at,
        d.seen_fact_id,
        d.lost_at,
        d.missing_fact_id,
        d.changed_at,
        lag(d.lost_at) OVER (PARTITION BY d.agent, d.changed_at ORDER BY d.lost_at, d.missing_fact_id) AS before_at
    FROM dated AS d
),

grouped AS (
    SELECT
        s.agent,
        s.task_id,
        s.state,
        s.seen_at,
        s.seen_fact_id,
        s.lost_at,
        s.missing_fact_id,
        s.changed_at,
        sum(CASE
            WHEN s.before_at IS NULL THEN 1
            WHEN s.changed_at IS NULL AND s.lost_at > s.before_at + CAST($instant AS INTERVAL) THEN 1
            ELSE 0
        END) OVER (
            PARTITION BY s.agent, s.changed_at ORDER BY s.lost_at, s.missing_fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run
    FROM spaced AS s
),

-- By the second, which every log has: what began in one is one incident.
placed AS (
    SELECT
        g.agent,
        g.task_id,
        g.seen_at,
        g.seen_fact_id,
        g.lost_at,
        g.missing_fact_id,
        g.changed_at,
        date_trunc('second', coalesce(g.changed_at, min(g.lost_at) OVER (PARTITION BY g.agent, g.changed_at, g.run))) AS incident
    FROM grouped AS g
),

incidents AS (
    SELECT
        p.agent,
        p.incident,
        max(p.changed_at) AS changed_at,
        count(*) AS tasks,
        array_agg(p.task_id ORDER BY p.lost_at, p.missing_fact_id) AS task_ids,
        array_agg(p.seen_fact_id ORDER BY p.lost_at, p.missing_fact_id) AS seen_fact_ids,
        array_agg(p.missing_fact_id ORDER BY p.lost_at, p.missing_fact_id) AS missing_fact_ids,
        bool_or(p.lost_at <= p.seen_at + CAST($instant AS INTERVAL)) AS is_soon,
        min(p.lost_at) AS first_at,
        max(p.lost_at) AS last_at
    FROM placed AS p
    GROUP BY p.agent, p.incident
),

changes AS (
    SELECT
        k.agent,
        k.valid_from,
        min(k.fact_id) AS fact_id
    FROM card_generations AS k
    WHERE k.fact_before IS NOT NULL
    GROUP BY k.agent, k.valid_from
)

SELECT
    i.agent,
    i.incident,
    i.tasks,
    i.task_ids,
    CASE WHEN i.tasks = 1 THEN 'a running task' ELSE concat(CAST(i.tasks AS VARCHAR), ' running tasks') END AS what,
    CASE
        WHEN i.changed_at IS NOT NULL THEN 'they were known before its card changed and are not found since'
        WHEN i.tasks > 1 THEN 'all of them were not found from one moment on'
        ELSE 'it was told of as not ended, and is not found since'
    END AS why,
    CASE WHEN i.changed_at IS NOT NULL OR i.tasks > 1 OR i.is_soon THEN 'confirmed' ELSE 'likely' END AS confidence,
    i.first_at AS observed_at,
    i.first_at AS first_seen,
    i.last_at AS last_seen,
    i.tasks AS count,
    i.seen_fact_ids,
    i.missing_fact_ids,
    coalesce(c.fact_id, '') AS card_fact_id
FROM incidents AS i
LEFT JOIN changes AS c ON i.agent = c.agent AND i.changed_at = c.valid_from
