-- title    = "A task that had ended gained artifacts"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.state", "artifact_parts.artifact_id"]
-- summary  = "{task_id} ended {state} and gained artifacts afterwards: {gained}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "Have {agent} write artifacts before it ends a task; read {task_id} again and decide whether what came late is to be used"
-- params   = { late = "30 seconds" }
--
-- ## What it finds
-- An artifact event more than `late` after the end of its task, or two reads of the ended task of which the later has more artifacts. A warning for a task that
-- was canceled, failed or rejected, a note for a completed one.
-- ## Why it matters
-- Who read the task at its end holds another result than who reads it now; of a canceled task nobody expects any.
-- ## First checks
-- 1. Does a worker go on after the cancel? Look at the agent's log at the time of the late artifact.
-- 2. Do two replicas write the same task?
-- ## When it is wrong
-- When the store of the agent is slow, and a read right after the end did not show everything yet.
-- ## What it cannot see
-- Whether a first read after the end has more than the stream had.

WITH ends AS (
    SELECT
        t.agent,
        t.task_id,
        t.state,
        t.ended_at,
        t.first_seen_at,
        t.fact_id
    FROM task_ends AS t
    WHERE t.speaker = 'server'
),

pressed AS (
    SELECT
        d.agent,
        d.task_id,
        d.state,
        d.fact_id,
        CASE WHEN d.first_seen_at > d.ended_at THEN d.first_seen_at ELSE d.ended_at END AS over_at
    FROM ends AS d
    INNER JOIN artifact_parts AS p ON d.agent = p.agent AND d.task_id = p.task_id
    WHERE p.action = 'received' AND p.origin <> 'local'
    GROUP BY d.agent, d.task_id, d.state, d.fact_id, d.first_seen_at, d.ended_at
    HAVING max(p.observed_at) > max(d.first_seen_at)
),

-- A task that was seen open again, or was sent a new message, lives a second life: what it gains then is the business of other rules.
reopened AS (
    SELECT
        d.agent,
        d.task_id,
        min(e.observed_at) AS again_at
    FROM pressed AS d
    INNER JOIN task_events AS e ON d.agent = e.agent AND d.task_id = e.task_id
    WHERE
        e.origin <> 'local' AND e.observed_at > d.over_at
        AND e.state IN ('submitted', 'working', 'input-required', 'auth-required')
    GROUP BY d.agent, d.task_id
    UNION ALL
    SELECT
        d.agent,
        d.task_id,
        min(c.observed_at) AS again_at
    FROM pressed AS d
    INNER JOIN calls AS c ON d.agent = c.agent AND d.task_id = c.task_id
    WHERE
        c.operation IN ('SendMessage', 'SendStreamingMessage') AND c.outcome = 'ok' AND c.observed_at > d.over_at
    GROUP BY d.agent, d.task_id
),

late_events AS (
    SELECT
        e.agent,
        e.task_id,
        p.artifact_id,
        p.observed_at,
        p.fact_id,
        row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY p.observed_at, p.fact_id) AS nth
    FROM pressed AS e
    INNER JOIN artifact_parts AS p ON e.agent = p.agent AND e.task_id = p.task_id
    WHERE
        p.origin IN ('stream', 'push') AND NOT p.snapshot AND p.action = 'received'
        AND p.observed_at > e.over_at + CAST($late AS INTERVAL)
        -- A delivery that is tried again, and a stream that is replayed, repeat what was there in time.
        AND NOT EXISTS (
            SELECT 1 FROM artifact_parts AS q
            WHERE
                q.agent = p.agent AND q.task_id = p.task_id AND q.artifact_id = p.artifact_id AND q.part_kind = p.part_kind
                AND coalesce(q.size, -1) = coalesce(p.size, -1) AND coalesce(q.part_index, -1) = coalesce(p.part_index, -1)
                AND q.observed_at <= e.over_at AND q.action = 'received'
        )
),

reads AS (
    SELECT
        e.agent,
        e.task_id,
        e.artifact_count,
        e.observed_at,
        e.fact_id,
        lag(e.artifact_count) OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS count_before,
        lag(e.fact_id) OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS fact_before
    FROM task_events AS e
    INNER JOIN pressed AS d ON e.agent = d.agent AND e.task_id = d.task_id
    WHERE
        e.snapshot AND e.artifact_count IS NOT NULL AND e.origin IN ('poll', 'reply')
        AND e.state IN ('completed', 'failed', 'canceled', 'rejected')
),

-- Reads that go up and down tell of replicas, not of late writers.
growing AS (
    SELECT
        r.agent,
        r.task_id
    FROM reads AS r
    GROUP BY r.agent, r.task_id
    HAVING bool_or(r.artifact_count > r.count_before) AND NOT coalesce(bool_or(r.artifact_count < r.count_before), FALSE)
),

grown AS (
    SELECT
        r.agent,
        r.task_id,
        r.artifact_count,
        r.count_before,
        r.observed_at,
        r.fact_id,
        r.fact_before,
        row_number() OVER (PARTITION BY r.agent, r.task_id ORDER BY r.observed_at, r.fact_id) AS nth
    FROM reads AS r
    INNER JOIN growing AS g ON r.agent = g.agent AND r.task_id = g.task_id
    WHERE r.artifact_count > r.count_before
)

SELECT
    d.agent,
    d.task_id,
    d.state,
    CASE
        WHEN l.fact_id IS NOT NULL THEN l.artifact_id
        ELSE concat('from ', CAST(g.count_before AS VARCHAR), ' to ', CAST(g.artifact_count AS VARCHAR))
    END AS gained,
    CASE WHEN d.state = 'completed' THEN 'info' ELSE 'warning' END AS severity,
    'confirmed' AS confidence,
    CASE
        WHEN l.fact_id IS NOT NULL THEN 'an artifact event came well after the terminal state'
        ELSE 'of two reads after the end, the later has more artifacts'
    END AS why,
    coalesce(l.observed_at, g.observed_at) AS observed_at,
    d.fact_id AS end_fact_id,
    coalesce(l.fact_id, '') AS late_fact_id,
    coalesce(g.fact_before, '') AS earlier_read_fact_id,
    coalesce(g.fact_id, '') AS later_read_fact_id
FROM pressed AS d
LEFT JOIN late_events AS l ON d.agent = l.agent AND d.task_id = l.task_id AND l.nth = 1
LEFT JOIN grown AS g ON d.agent = g.agent AND d.task_id = g.task_id AND g.nth = 1
WHERE
    (l.fact_id IS NOT NULL OR g.fact_id IS NOT NULL)
    AND NOT EXISTS (
        SELECT 1 FROM reopened AS r
        WHERE r.agent = d.agent AND r.task_id = d.task_id AND r.again_at <= coalesce(l.observed_at, g.observed_at)
    )
