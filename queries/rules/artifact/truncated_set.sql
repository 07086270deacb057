-- title    = "The client keeps fewer artifacts than the agent delivered"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.artifact_count[origin=local]", "task_events.artifact_count"]
-- summary  = "{task_id}: the client has {client_count|artifact|artifacts}, {agent} had {server_count} when it completed"
-- suspect  = "client"
-- because  = "the client's own statement lists fewer artifacts than the agent's answer at completion"
-- next     = "Have the client read {task_id} again and take the artifacts it lacks ({missing})"
--
-- ## What it finds
-- A client that told its terminal state, or its list of artifacts after the end, with fewer artifacts than the agent had at completion.
-- ## Why it matters
-- The client settled a partial result as the whole one; what comes after builds on half of it.
-- ## First checks
-- 1. Which artifacts are missing: the last ones of a stream that was cut?
-- 2. Did the client end the task before the agent did? See failed_by_card and split_brain.
-- ## When it is wrong
-- When the client keeps only the artifacts that it asked for.
-- ## What it cannot see
-- Clients that tell nobody what they keep.

WITH claims AS (
    SELECT
        e.agent,
        e.task_id,
        e.client,
        e.state,
        e.artifact_count,
        e.record_id,
        e.observed_at,
        e.fact_id,
        row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at DESC NULLS LAST, e.fact_id) AS nth_last
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.origin = 'local' AND e.observer = 'client' AND e.artifact_count IS NOT NULL
),

claimed AS (
    SELECT
        c.agent,
        c.task_id,
        c.client,
        c.state IN ('completed', 'failed', 'canceled', 'rejected') AS is_end,
        c.artifact_count,
        c.record_id,
        c.observed_at,
        c.fact_id
    FROM claims AS c
    WHERE c.nth_last = 1
),

snapshots AS (
    SELECT
        e.agent,
        e.task_id,
        e.artifact_count,
        e.record_id,
        e.observed_at,
        e.fact_id,
        row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS nth
    FROM task_events AS e
    INNER JOIN claimed AS c ON e.agent = c.agent AND e.task_id = c.task_id
    WHERE e.origin <> 'local' AND e.state = 'completed' AND e.artifact_count IS NOT NULL
),

ends AS (
    SELECT
        t.agent,
        t.task_id,
        t.first_seen_at,
        t.fact_id
    FROM task_ends AS t
    INNER JOIN claimed AS c ON t.agent = c.agent AND t.task_id = c.task_id
    WHERE t.speaker = 'server' AND t.state = 'completed'
),

had AS (
    SELECT
        p.agent,
        p.task_id,
        p.artifact_id,
        min(p.fact_id) AS fact_id
    FROM artifact_parts AS p
    INNER JOIN ends AS d ON p.agent = d.agent AND p.task_id = d.task_id
    LEFT JOIN snapshots AS s ON p.agent = s.agent AND p.task_id = s.task_id AND s.nth = 1
    WHERE
        p.origin <> 'local' AND p.action = 'received'
        AND (p.record_id = s.record_id OR (NOT p.snapshot AND p.observed_at <= d.first_seen_at))
    GROUP BY p.agent, p.task_id, p.artifact_id
),

kept AS (
    SELECT
        p.agent,
        p.task_id,
        p.artifact_id
    FROM artifact_parts AS p
    INNER JOIN claimed AS c ON p.agent = c.agent AND p.task_id = c.task_id AND p.record_id = c.record_id
    WHERE p.origin = 'local'
    GROUP BY p.agent, p.task_id, p.artifact_id
),

counted AS (
    SELECT
        h.agent,
        h.task_id,
        count(*) AS artifacts,
        count(CASE WHEN k.artifact_id IS NOT NULL THEN 1 END) AS known,
        string_agg(h.artifact_id, ', ' ORDER BY h.artifact_id) FILTER (WHERE k.artifact_id IS NULL) AS missing,
        min(h.fact_id) FILTER (WHERE k.artifact_id IS NULL) AS missing_fact_id
    FROM had AS h
    LEFT JOIN kept AS k ON h.agent = k.agent AND h.task_id = k.task_id AND h.artifact_id = k.artifact_id
    GROUP BY h.agent, h.task_id
),

compared AS (
    SELECT
        c.agent,
        c.task_id,
        c.client,
        c.artifact_count AS client_count,
        CASE WHEN coalesce(n.artifacts, 0) > coalesce(s.artifact_count, 0) THEN n.artifacts ELSE coalesce(s.artifact_count, 0) END
            AS server_count,
        CASE WHEN c.artifact_count = 0 OR n.known > 0 THEN n.missing END AS missing,
        CASE WHEN c.observed_at > d.first_seen_at THEN c.observed_at ELSE d.first_seen_at END AS observed_at,
        c.fact_id AS client_fact_id,
        coalesce(s.fact_id, d.fact_id) AS server_fact_id,
        coalesce(n.missing_fact_id, '') AS artifact_fact_id
    FROM claimed AS c
    INNER JOIN ends AS d ON c.agent = d.agent AND c.task_id = d.task_id AND (c.is_end OR c.observed_at > d.first_seen_at)
    LEFT JOIN snapshots AS s ON c.agent = s.agent AND c.task_id = s.task_id AND s.nth = 1
    LEFT JOIN counted AS n ON c.agent = n.agent AND c.task_id = n.task_id
)

SELECT
    c.agent,
    c.task_id,
    c.client,
    c.client_count,
    c.server_count,
    coalesce(c.missing, 'unnamed') AS missing,
    'confirmed' AS confidence,
    c.observed_at,
    c.client_fact_id,
    c.server_fact_id,
    c.artifact_fact_id
FROM compared AS c
WHERE c.client_count < c.server_count
