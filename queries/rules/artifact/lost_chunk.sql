-- title    = "Chunks of an artifact were lost on the way"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id", "artifact_id"]
-- needs    = ["artifact_parts.append"]
-- summary  = "{artifact_id} of {task_id}: {fault}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "Compare {artifact_id} as a consumer put it together with GetTask of {task_id}; have {agent} open an artifact once, append with one id and close it last"
--
-- ## What it finds
-- Within one stream: a chunk that appends to an artifact nobody opened, a chunk after the one called last, a last chunk that replaces the earlier ones because it does not
-- append. In a whole task: one artifact id twice.
-- ## Why it matters
-- Consumers follow the flags: they drop a chunk that has nothing to append to, and keep only the last of chunks that replace each other. The task completes all the same.
-- ## First checks
-- 1. Read the sizes in the evidence: does the stored artifact have all the bytes that the stream had?
-- 2. Does the agent make a new artifact id for each chunk, or forget `append`?
-- ## When it is wrong
-- When a stream sends the whole artifact each time, growing: then the last one replaces with reason. It is only likely where the last is the largest.
-- ## What it cannot see
-- What was sent before a stream was joined; the order of webhook deliveries, which may overtake each other.

WITH pressed AS (
    SELECT
        p.agent,
        p.task_id,
        p.record_id
    FROM artifact_parts AS p
    WHERE p.task_id <> '' AND p.origin = 'stream' AND p.action = 'received' AND p.record_id <> ''
    GROUP BY p.agent, p.task_id, p.record_id
    HAVING bool_or(p.append) OR bool_or(p.last_chunk)
),

-- The stream of the call that made the task: from its start on everything is seen. Before it nothing of the task is.
whole AS (
    SELECT
        x.agent,
        x.task_id,
        x.record_id,
        min(x.dialect) AS dialect,
        min(x.observed_at) AS started_at
    FROM exchanges AS x
    INNER JOIN pressed AS p ON x.agent = p.agent AND x.task_id = p.task_id AND x.record_id = p.record_id
    WHERE x.operation = 'SendStreamingMessage' AND (x.request_task_id = '' OR x.dialect = '0.1')
    GROUP BY x.agent, x.task_id, x.record_id
),

made AS (
    SELECT
        w.agent,
        w.task_id,
        w.record_id,
        w.dialect
    FROM whole AS w
    WHERE NOT EXISTS (
        SELECT 1 FROM task_events AS e
        WHERE e.agent = w.agent AND e.task_id = w.task_id AND e.observed_at < w.started_at
    )
),

events AS (
    SELECT
        p.agent,
        p.task_id,
        p.record_id,
        p.artifact_id,
        coalesce(p.ordinal, 0) AS ordinal,
        bool_or(p.append) AS is_append,
        bool_or(p.last_chunk) AS is_last,
        sum(coalesce(p.size, 0)) AS size,
        min(p.observed_at) AS observed_at,
        min(p.fact_id) AS fact_id
    FROM artifact_parts AS p
    INNER JOIN pressed AS s ON p.agent = s.agent AND p.task_id = s.task_id AND p.record_id = s.record_id
    WHERE NOT p.snapshot AND p.action = 'received'
    GROUP BY p.agent, p.task_id, p.record_id, p.artifact_id, coalesce(p.ordinal, 0)
),

ordered AS (
    SELECT
        e.agent,
        e.task_id,
        e.record_id,
        e.artifact_id,
        e.is_append,
        e.is_last,
        e.size,
        e.observed_at,
        e.fact_id,
        lag(e.fact_id) OVER (
            PARTITION BY e.agent, e.task_id, e.record_id, e.artifact_id ORDER BY e.ordinal, e.fact_id
        ) AS fact_before,
        count(CASE WHEN NOT e.is_append THEN 1 END) OVER (
            PARTITION BY e.agent, e.task_id, e.record_id, e.artifact_id
            ORDER BY e.ordinal, e.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS opened,
        count(CASE WHEN e.is_last THEN 1 END) OVER (
            PARTITION BY e.agent, e.task_id, e.record_id, e.artifact_id
            ORDER BY e.ordinal, e.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS closed_before,
        sum(e.size) OVER (
            PARTITION BY e.agent, e.task_id, e.record_id, e.artifact_id
            ORDER BY e.ordinal, e.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS size_before
    FROM events AS e
),

faults AS (
    SELECT
        o.agent,
        o.task_id,
        o.artifact_id,
        1 AS weight,
        'a chunk appends to an artifact that was never opened' AS fault,
        'consumers drop a chunk that has nothing to append to' AS why,
        CASE WHEN m.dialect = '0.1' THEN 'likely' ELSE 'confirmed' END AS confidence,
        o.observed_at,
        o.fact_id,
        '' AS earlier_fact_id
    FROM ordered AS o
    INNER JOIN made AS m ON o.agent = m.agent AND o.task_id = m.task_id AND o.record_id = m.record_id
    WHERE
        o.is_append AND o.opened = 0
        AND NOT EXISTS (
            SELECT 1 FROM artifact_parts AS p
            WHERE
                p.agent = o.agent AND p.task_id = o.task_id AND p.artifact_id = o.artifact_id AND p.action = 'received'
                AND p.observed_at < o.observed_at AND (p.snapshot OR NOT p.append)
        )
    UNION ALL
    SELECT
        o.agent,
        o.task_id,
        o.artifact_id,
        2 AS weight,
        'a chunk came after the last one' AS fault,
        'consumers that close an artifact at its last chunk never see what follows' AS why,
        'confirmed' AS confidence,
        o.observed_at,
        o.fact_id,
        coalesce(o.fact_before, '') AS earlier_fact_id
    FROM ordered AS o
    WHERE coalesce(o.closed_before, 0) > 0
    UNION ALL
    SELECT
        o.agent,
        o.task_id,
        o.artifact_id,
        3 AS weight,
        'the last chunk replaces the earlier ones' AS fault,
        'the last chunk does not append, so consumers keep it alone' AS why,
        CASE WHEN o.size < o.size_before THEN 'confirmed' ELSE 'likely' END AS confidence,
        o.observed_at,
        o.fact_id,
        coalesce(o.fact_before, '') AS earlier_fact_id
    FROM ordered AS o
    WHERE o.is_last AND NOT o.is_append AND o.fact_before IS NOT NULL AND coalesce(o.closed_before, 0) = 0
    UNION ALL
    SELECT
        p.agent,
        p.task_id,
        p.artifact_id,
        4 AS weight,
        'its id stands twice in one answer' AS fault,
        'consumers that keep artifacts by id keep one of the two' AS why,
        'confirmed' AS confidence,
        min(p.observed_at) AS observed_at,
        min(p.fact_id) AS fact_id,
        max(p.fact_id) AS earlier_fact_id
    FROM artifact_parts AS p
    WHERE p.task_id <> '' AND p.snapshot AND p.action = 'received' AND p.origin <> 'local'
    GROUP BY p.agent, p.task_id, p.artifact_id, p.record_id, p.observed_at
    HAVING min(p.ordinal) <> max(p.ordinal)
),

ranked AS (
    SELECT
        f.agent,
        f.task_id,
        f.artifact_id,
        f.fault,
        f.why,
        f.confidence,
        f.observed_at,
        f.fact_id,
        f.earlier_fact_id,
        count(*) OVER (PARTITION BY f.agent, f.task_id, f.artifact_id) AS count,
        row_number() OVER (
            PARTITION BY f.agent, f.task_id, f.artifact_id ORDER BY f.weight, f.observed_at, f.fact_id
        ) AS nth
    FROM faults AS f
)

SELECT
    r.agent,
    r.task_id,
    r.artifact_id,
    r.fault,
    r.why,
    r.confidence,
    r.count,
    r.observed_at,
    r.earlier_fact_id,
    r.fact_id AS chunk_fact_id
FROM ranked AS r
WHERE r.nth = 1
