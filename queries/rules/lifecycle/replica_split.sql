-- title    = "Reads of one task go back and forth: replicas that do not share their tasks"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["task_events.state[origin=poll]"]
-- summary  = "{agent} answers reads of {what} in two ways, {task}: {how}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "Give the replicas of {agent} one task store, or bind a task's calls to the replica that made it"
-- alert    = { keep = "30m" }
--
-- ## What it finds
-- A task that is found, then not, then found again; or whose state or artifacts go back to an older stand and forth again. Between two addresses that
-- answered at the same time, one step back is enough.
-- ## Why it matters
-- Which answer a caller gets is a matter of luck. Polls miss an end, messages are refused, and what looks like a lost task is there on the next call.
-- ## First checks
-- 1. Compare the addresses of the answers ahead and behind; without any, ask the load balancer's log for the same minutes.
-- 2. See whether all tasks concerned were made after one deployment or scaling.
-- 3. A single replica? Then look for a cache before its store.
-- ## When it is wrong
-- When an agent answers reads from a store that is behind by seconds on purpose.
-- ## What it cannot see
-- Splits that show between the reads of different observers only: their clocks are not compared.

WITH ranked AS (
    SELECT
        s.agent,
        s.task_id,
        s.kind,
        s.behind,
        s.one_address,
        s.other_address,
        s.ahead_fact_id,
        s.behind_fact_id,
        s.again_fact_id,
        s.observed_at,
        row_number() OVER (PARTITION BY s.agent ORDER BY s.observed_at, s.behind_fact_id) AS nth
    FROM split_reads AS s
)

SELECT
    r.agent,
    count(*) AS tasks,
    CASE WHEN count(*) = 1 THEN 'a task' ELSE concat(CAST(count(*) AS VARCHAR), ' tasks') END AS what,
    max(CASE WHEN r.nth = 1 THEN r.task_id ELSE '' END) AS task,
    max(CASE WHEN r.nth = 1 THEN concat(
        'read, then ',
        CASE r.behind WHEN 'fewer artifacts' THEN r.behind WHEN 'not found' THEN r.behind ELSE concat('back at ', r.behind) END,
        CASE r.kind WHEN 'in turn' THEN ', then as before' ELSE '' END
    ) END) AS how,
    max(CASE WHEN r.nth = 1 THEN CASE
        WHEN
            r.one_address <> '' AND r.one_address <> r.other_address
            THEN concat(r.one_address, ' and ', r.other_address, ' answer differently')
        ELSE 'no single store goes back to what it knew before'
    END END) AS why,
    array_agg(r.task_id ORDER BY r.observed_at, r.behind_fact_id) AS task_ids,
    'confirmed' AS confidence,
    min(r.observed_at) AS observed_at,
    min(r.observed_at) AS first_seen,
    max(r.observed_at) AS last_seen,
    count(*) AS count,
    array_agg(r.ahead_fact_id ORDER BY r.observed_at, r.behind_fact_id) AS ahead_fact_ids,
    array_agg(r.behind_fact_id ORDER BY r.observed_at, r.behind_fact_id) AS behind_fact_ids,
    array_agg(r.again_fact_id ORDER BY r.observed_at, r.behind_fact_id) AS again_fact_ids
FROM ranked AS r
GROUP BY r.agent
