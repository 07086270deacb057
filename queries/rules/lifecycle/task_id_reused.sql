-- title    = "The id of a task that had ended, or of another's task, was used again"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["exchanges.request_task_id", "task_events.state or exchanges.error_text_class"]
-- summary  = "{task_id} on {agent} {what}"
-- suspect  = "client"
-- because  = "{why}"
-- next     = "{advice}"
--
-- ## What it finds
-- A message that names a task which had already ended. Refused, or answered with the old task unchanged, it is an attempt and only a note. Accepted, the
-- id has a new life. The same if one id turns up in two contexts or is written to by two principals.
-- ## Why it matters
-- A task is known by its id alone. Two lives of one id mix their results: a caller reads another's artifact, a store overwrites an end.
-- ## First checks
-- 1. Attempt: the caller keeps ids of tasks that have ended; it should start a new task in the same context.
-- 2. Accepted: compare contexts and times of the two lives, and who made the id (A2A 0.1 lets callers choose it).
-- 3. Two contexts or principals within the hour: look for callers that count ids from 1, or for an agent restarted without its store.
-- ## When it is wrong
-- Where a fleet re-runs ended tasks by id on purpose; where several persons may write to one task.
-- ## What it cannot see
-- A reuse of an id whose first life was over before the capture began; by requests alone, as an access log has them, none: it is the answers that tell
-- that a task had ended.

WITH judged AS (
    SELECT
        m.agent,
        m.task_id,
        m.call_key,
        m.client,
        m.outcome,
        m.observed_at,
        m.answered_at,
        m.fact_id,
        m.end_state,
        m.end_status_at,
        m.end_fact_id,
        row_number() OVER (PARTITION BY m.agent, m.task_id ORDER BY m.observed_at, m.fact_id) AS nth
    FROM task_messages AS m
    WHERE m.end_fact_id <> '' OR m.error_text_class = 'terminal-task'
),

lives AS (
    SELECT
        j.agent,
        j.task_id,
        j.observed_at,
        j.client,
        j.end_state,
        j.end_fact_id,
        j.fact_id,
        e.state,
        e.fact_id AS life_fact_id,
        row_number() OVER (PARTITION BY j.agent, j.task_id ORDER BY e.observed_at, e.fact_id) AS nth
    FROM judged AS j
    INNER JOIN task_events AS e ON j.agent = e.agent AND j.task_id = e.task_id AND j.observed_at <= e.observed_at
    WHERE
        j.outcome = 'ok' AND j.end_fact_id <> '' AND e.origin <> 'local' AND e.state <> 'unknown'
        AND (
            e.status_at > j.end_status_at
            OR (
                (e.status_at IS NULL OR j.end_status_at IS NULL) AND e.origin IN ('reply', 'stream')
                AND e.operation IN ('SendMessage', 'SendStreamingMessage')
                AND e.state NOT IN ('completed', 'failed', 'canceled', 'rejected')
            )
        )
),

attempts AS (
    SELECT
        j.agent,
        j.task_id,
        max(j.client) AS client,
        count(*) AS attempts,
        max(CASE WHEN j.nth = 1 THEN j.end_state ELSE '' END) AS end_state,
        max(CASE WHEN j.nth = 1 THEN j.end_fact_id ELSE '' END) AS end_fact_id,
        array_agg(j.fact_id ORDER BY j.observed_at, j.fact_id) AS message_fact_ids,
        bool_or(j.outcome = 'ok') AS is_swallowed,
        min(j.observed_at) AS first_at,
        max(j.observed_at) AS last_at
    FROM judged AS j
    GROUP BY j.agent, j.task_id
),

contexts AS (
    SELECT
        e.agent,
        e.task_id,
        min(e.context_id) AS one,
        max(e.context_id) AS other
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.context_id <> '' AND e.origin IN ('reply', 'stream', 'poll', 'push')
    GROUP BY e.agent, e.task_id
    HAVING min(e.context_id) <> max(e.context_id)
),

writers AS (
    SELECT
        c.agent,
        c.task_id,
        min(c.principal) AS one,
        max(c.principal) AS other
    FROM calls AS c
    WHERE
        c.task_id <> '' AND c.principal <> '' AND c.outcome = 'ok'
        AND c.operation IN ('SendMessage', 'SendStreamingMessage')
    GROUP BY c.agent, c.task_id
    HAVING min(c.principal) <> max(c.principal)
),

shared AS (
    SELECT
        x.agent,
        x.task_id,
        'two contexts' AS kind,
        min(e.observed_at) FILTER (WHERE e.context_id = x.one) AS one_at,
        min(e.observed_at) FILTER (WHERE e.context_id = x.other) AS other_at,
        min(e.fact_id) FILTER (WHERE e.context_id = x.one) AS one_fact_id,
        min(e.fact_id) FILTER (WHERE e.context_id = x.other) AS other_fact_id
    FROM contexts AS x
    INNER JOIN task_events AS e ON x.agent = e.agent AND x.task_id = e.task_id
    WHERE e.origin IN ('reply', 'stream', 'poll', 'push')
    GROUP BY x.agent, x.task_id
    UNION ALL
    SELECT
        w.agent,
        w.task_id,
        'two principals' AS kind,
        min(c.observed_at) FILTER (WHERE c.principal = w.one) AS one_at,
        min(c.observed_at) FILTER (WHERE c.principal = w.other) AS other_at,
        min(c.fact_id) FILTER (WHERE c.principal = w.one) AS one_fact_id,
        min(c.fact_id) FILTER (WHERE c.principal = w.other) AS other_fact_id
    FROM writers AS w
    INNER JOIN calls AS c ON w.agent = c.agent AND w.task_id = c.task_id
    WHERE c.outcome = 'ok' AND c.operation IN ('SendMessage', 'SendStreamingMessage')
    GROUP BY w.agent, w.task_id
),

told AS (
    SELECT
        l.agent,
        l.task_id,
        1 AS rank,
        'accepted' AS kind,
        l.client,
        l.observed_at,
        l.end_state,
        l.state,
        l.end_fact_id AS one_fact_id,
        l.life_fact_id AS other_fact_id
    FROM lives AS l
    WHERE l.nth = 1
    UNION ALL
    SELECT
        s.agent,
        s.task_id,
        CASE s.kind WHEN 'two contexts' THEN 2 ELSE 3 END AS rank,
        s.kind,
        '' AS client,
        CASE WHEN s.one_at > s.other_at THEN s.one_at ELSE s.other_at END AS observed_at,
        '' AS end_state,
        '' AS state,
        s.one_fact_id,
        s.other_fact_id
    FROM shared AS s
    UNION ALL
    SELECT
        a.agent,
        a.task_id,
        4 AS rank,
        'attempted' AS kind,
        a.client,
        a.first_at AS observed_at,
        a.end_state,
        '' AS state,
        a.end_fact_id AS one_fact_id,
        '' AS other_fact_id
    FROM attempts AS a
),

ranked AS (
    SELECT
        t.agent,
        t.task_id,
        t.kind,
        t.client,
        t.observed_at,
        t.end_state,
        t.state,
        t.one_fact_id,
        t.other_fact_id,
        row_number() OVER (PARTITION BY t.agent, t.task_id ORDER BY t.rank, t.one_fact_id) AS nth
    FROM told AS t
)

SELECT
    r.agent,
    r.task_id,
    r.client,
    r.kind,
    CASE r.kind
        WHEN 'accepted' THEN concat('had ended as ', r.end_state, '; a message to it began a new life (', r.state, ')')
        WHEN 'two contexts' THEN 'is the id of a task in two contexts'
        WHEN 'two principals' THEN 'is written to by two principals'
        ELSE concat('has ended and was sent ', CAST(a.attempts AS VARCHAR), CASE a.attempts WHEN 1 THEN ' message' ELSE ' messages' END)
    END AS what,
    CASE r.kind
        WHEN 'accepted' THEN 'the agent took a message to a task that it had ended'
        WHEN 'two contexts' THEN 'the agent itself names both contexts'
        WHEN 'two principals' THEN 'the agent took messages of both'
        ELSE CASE WHEN a.is_swallowed THEN 'the agent answered without taking it up' ELSE 'the agent refused' END
    END AS why,
    CASE r.kind
        WHEN 'attempted' THEN concat('Let the caller drop ', r.task_id, ' and start a new task in the same context')
        ELSE concat('Find who chose the id ', r.task_id, ', and take results read under it since then for mixed until compared')
    END AS advice,
    CASE r.kind WHEN 'attempted' THEN 'info' ELSE 'critical' END AS severity,
    CASE r.kind WHEN 'attempted' THEN 'client' ELSE 'remote-runtime' END AS suspect,
    'confirmed' AS confidence,
    r.observed_at,
    coalesce(a.attempts, 1) AS count,
    coalesce(a.first_at, r.observed_at) AS first_seen,
    coalesce(a.last_at, r.observed_at) AS last_seen,
    r.one_fact_id AS first_life_fact_id,
    r.other_fact_id AS second_life_fact_id,
    a.message_fact_ids
FROM ranked AS r
LEFT JOIN attempts AS a ON r.agent = a.agent AND r.task_id = a.task_id
WHERE r.nth = 1
