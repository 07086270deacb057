-- title    = "A task moved in a way that its life does not allow"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.state"]
-- summary  = "{task_id} on {agent}: {what}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "{advice}"
--
-- ## What it finds
-- A task that goes from working back to submitted, or that leaves an end within one stream or between two reads of an agent that gives no times. As a
-- note: a message that the agent took for a task that was not waiting for one.
-- ## Why it matters
-- Callers are written against the state machine. One that sees a task start anew may start its own part again.
-- ## First checks
-- 1. Look at what came just before: a restart of the agent, a message, a second worker on the same queue.
-- 2. Compare the status times of both states; equal ones within a second hint at two writers.
-- 3. For a message to a working task, read what the agent made of it: most drop it.
-- ## When it is wrong
-- When an agent re-queues a task on purpose and says so.
-- ## What it cannot see
-- Steps between two sights: only what was told is compared. What terminal_reopened, task_id_reused or a split explains is left to them.

WITH timed AS (
    SELECT
        s.agent,
        s.task_id,
        s.state,
        s.generation,
        s.status_at,
        s.is_end,
        min(s.observed_at) AS observed_at,
        min(s.fact_id) AS fact_id
    FROM task_statements AS s
    WHERE s.speaker = 'server' AND s.status_at IS NOT NULL
    GROUP BY s.agent, s.task_id, s.state, s.generation, s.status_at, s.is_end
),

followed AS (
    SELECT
        t.agent,
        t.task_id,
        t.state,
        t.status_at,
        t.observed_at,
        t.fact_id,
        lag(t.state) OVER (
            PARTITION BY t.agent, t.task_id
            ORDER BY
                t.generation NULLS FIRST, t.status_at,
                CASE WHEN t.state = 'submitted' THEN 0 WHEN t.is_end THEN 3 WHEN t.state = 'working' THEN 1 ELSE 2 END, t.fact_id
        ) AS state_before,
        lag(t.status_at) OVER (
            PARTITION BY t.agent, t.task_id
            ORDER BY
                t.generation NULLS FIRST, t.status_at,
                CASE WHEN t.state = 'submitted' THEN 0 WHEN t.is_end THEN 3 WHEN t.state = 'working' THEN 1 ELSE 2 END, t.fact_id
        ) AS status_before_at,
        lag(t.fact_id) OVER (
            PARTITION BY t.agent, t.task_id
            ORDER BY
                t.generation NULLS FIRST, t.status_at,
                CASE WHEN t.state = 'submitted' THEN 0 WHEN t.is_end THEN 3 WHEN t.state = 'working' THEN 1 ELSE 2 END, t.fact_id
        ) AS fact_before
    FROM timed AS t
),

series AS (
    SELECT
        s.agent,
        s.task_id,
        s.state,
        s.is_end,
        s.status_at,
        s.observed_at,
        s.ordinal,
        s.fact_id,
        CASE WHEN s.origin = 'stream' THEN concat('stream ', s.record_id) ELSE concat('reads ', s.observer, ' ', s.observer_name) END
            AS series
    FROM task_statements AS s
    WHERE s.speaker = 'server' AND (s.origin = 'stream' OR (s.origin = 'poll' AND s.operation = 'GetTask'))
),

told AS (
    SELECT
        s.agent,
        s.task_id,
        s.state,
        s.status_at,
        s.observed_at,
        s.fact_id,
        lag(s.state) OVER (
            PARTITION BY s.agent, s.task_id, s.series ORDER BY s.observed_at, s.ordinal NULLS FIRST, s.fact_id
        ) AS state_before,
        lag(s.is_end) OVER (
            PARTITION BY s.agent, s.task_id, s.series ORDER BY s.observed_at, s.ordinal NULLS FIRST, s.fact_id
        ) AS is_end_before,
        lag(s.status_at) OVER (
            PARTITION BY s.agent, s.task_id, s.series ORDER BY s.observed_at, s.ordinal NULLS FIRST, s.fact_id
        ) AS status_before_at,
        lag(s.fact_id) OVER (
            PARTITION BY s.agent, s.task_id, s.series ORDER BY s.observed_at, s.ordinal NULLS FIRST, s.fact_id
        ) AS fact_before
    FROM series AS s
),

moves AS (
    SELECT
        f.agent,
        f.task_id,
        f.state_before,
        f.state,
        f.observed_at,
        f.fact_before,
        f.fact_id,
        'warning' AS severity,
        'the agent dates the second state after the first' AS why
    FROM followed AS f
    WHERE f.state_before = 'working' AND f.state = 'submitted' AND f.status_at > f.status_before_at
    UNION ALL
    SELECT
        t.agent,
        t.task_id,
        t.state_before,
        t.state,
        t.observed_at,
        t.fact_before,
        t.fact_id,
        'warning' AS severity,
        'the agent told the states in this order' AS why
    FROM told AS t
    WHERE
        (t.status_at IS NULL OR t.status_before_at IS NULL)
        AND ((t.state_before = 'working' AND t.state = 'submitted') OR (t.is_end_before AND t.state <> t.state_before))
    UNION ALL
    SELECT
        m.agent,
        m.task_id,
        m.state_before,
        'sent a message' AS state,
        m.observed_at,
        m.state_before_fact_id AS fact_before,
        m.fact_id,
        'info' AS severity,
        'the same status is told before and after the message, so that it was not waiting for one' AS why
    FROM task_messages AS m
    WHERE
        m.outcome = 'ok' AND m.state_before IN ('submitted', 'working')
        AND EXISTS (
            SELECT 1 FROM task_events AS e
            WHERE
                e.agent = m.agent AND e.task_id = m.task_id AND e.state = m.state_before AND e.status_at = m.status_before_at
                AND e.observed_at > m.observed_at AND e.origin IN ('reply', 'poll')
        )
),

ranked AS (
    SELECT
        m.agent,
        m.task_id,
        m.state_before,
        m.state,
        m.observed_at,
        m.fact_before,
        m.fact_id,
        m.severity,
        m.why,
        row_number() OVER (PARTITION BY m.agent, m.task_id ORDER BY m.severity DESC NULLS LAST, m.observed_at, m.fact_id) AS nth
    FROM moves AS m
)

SELECT
    r.agent,
    r.task_id,
    r.state_before,
    r.state,
    CASE r.severity
        WHEN 'info' THEN concat('a message was sent to it while it was ', r.state_before)
        ELSE concat('it went from ', r.state_before, ' to ', r.state)
    END AS what,
    r.why,
    CASE r.severity
        WHEN 'info' THEN concat('Check that the caller waits for ', r.task_id, ' to ask before it answers')
        ELSE concat('Find what put ', r.task_id, ' back to ', r.state, ' at ', r.agent, ', and whether its work ran twice')
    END AS advice,
    r.severity,
    CASE r.severity WHEN 'info' THEN 'client' ELSE 'remote-runtime' END AS suspect,
    'confirmed' AS confidence,
    r.observed_at,
    r.fact_before AS before_fact_id,
    r.fact_id AS after_fact_id
FROM ranked AS r
WHERE
    r.nth = 1
    AND NOT EXISTS (SELECT 1 FROM terminal_reopened AS t WHERE t.agent = r.agent AND t.task_id = r.task_id)
    AND NOT EXISTS (SELECT 1 FROM task_id_reused AS u WHERE u.agent = r.agent AND u.task_id = r.task_id AND u.severity = 'critical')
    AND NOT EXISTS (SELECT 1 FROM split_answers AS a WHERE a.agent = r.agent AND a.task_id = r.task_id)
    AND NOT EXISTS (SELECT 1 FROM split_reads AS p WHERE p.agent = r.agent AND p.task_id = r.task_id)
