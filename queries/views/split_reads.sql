-- title  = "Tasks of which reads go back and forth"
-- by     = ["agent", "task_id"]
-- marks  = { server_addresses = { on = ["agent"] } }
-- params = { turns = 2 }
--
-- A read is `behind` when the task is not found after it was read, has an older state, or fewer artifacts in the same state, than a read before. `turns` changes between
-- behind and not are a split; one is enough between two addresses that answered at the same time. One observer's reads are compared, as clocks of
-- taps differ. ListTasks is no read here: it leaves out what GetTask shows.

WITH found AS (
    SELECT
        e.agent,
        e.task_id,
        e.observer,
        e.observer_name,
        e.client,
        e.server_address,
        e.state,
        e.state IN ('completed', 'failed', 'canceled', 'rejected') AS is_end,
        e.status_at,
        e.artifact_count,
        TRUE AS is_found,
        e.observed_at,
        e.fact_id
    FROM task_events AS e
    WHERE e.task_id <> '' AND e.origin = 'poll' AND e.operation = 'GetTask' AND e.state <> 'unknown'
),

screened AS (
    SELECT
        f.agent,
        f.task_id
    FROM found AS f
    GROUP BY f.agent, f.task_id
    HAVING
        min(f.state) <> max(f.state) OR min(f.artifact_count) <> max(f.artifact_count)
        OR min(f.status_at) <> max(f.status_at)
    UNION
    SELECT
        x.agent,
        x.task_id
    FROM exchanges AS x
    WHERE x.task_id <> '' AND x.operation = 'GetTask' AND x.outcome = 'not-found'
),

reads AS (
    SELECT
        f.agent,
        f.task_id,
        f.observer,
        f.observer_name,
        f.client,
        f.server_address,
        f.state,
        f.is_end,
        f.status_at,
        f.artifact_count,
        f.is_found,
        f.observed_at,
        f.fact_id
    FROM found AS f
    INNER JOIN screened AS s ON f.agent = s.agent AND f.task_id = s.task_id
    UNION ALL
    SELECT
        x.agent,
        x.task_id,
        x.observer,
        x.observer_name,
        x.client,
        x.server_address,
        'not found' AS state,
        FALSE AS is_end,
        CAST(NULL AS TIMESTAMP) AS status_at,
        CAST(NULL AS BIGINT) AS artifact_count,
        FALSE AS is_found,
        x.observed_at,
        x.fact_id
    FROM exchanges AS x
    WHERE x.task_id <> '' AND x.operation = 'GetTask' AND x.outcome = 'not-found'
),

known AS (
    SELECT
        r.agent,
        r.task_id,
        r.observer,
        r.observer_name,
        r.client,
        r.server_address,
        r.state,
        r.is_end,
        r.status_at,
        r.artifact_count,
        r.is_found,
        r.observed_at,
        r.fact_id,
        max(r.status_at) OVER (
            PARTITION BY r.agent, r.task_id, r.observer, r.observer_name, r.client
            ORDER BY r.observed_at, r.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS newest_at,
        max(r.artifact_count) OVER (
            PARTITION BY r.agent, r.task_id, r.observer, r.observer_name, r.client, r.status_at
            ORDER BY r.observed_at, r.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS most_artifacts,
        max(CASE WHEN r.is_end THEN 1 ELSE 0 END) OVER (
            PARTITION BY r.agent, r.task_id, r.observer, r.observer_name, r.client
            ORDER BY r.observed_at, r.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS has_ended,
        max(CASE WHEN r.is_found THEN 1 ELSE 0 END) OVER (
            PARTITION BY r.agent, r.task_id, r.observer, r.observer_name, r.client
            ORDER BY r.observed_at, r.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS was_found
    FROM reads AS r
),

judged AS (
    SELECT
        k.agent,
        k.task_id,
        k.observer,
        k.observer_name,
        k.client,
        k.server_address,
        k.observed_at,
        k.fact_id,
        CASE
            WHEN NOT k.is_found THEN 'not found'
            WHEN k.status_at < k.newest_at THEN k.state
            WHEN k.status_at IS NULL AND k.has_ended = 1 AND NOT k.is_end THEN k.state
            WHEN k.artifact_count < k.most_artifacts THEN 'fewer artifacts'
            ELSE ''
        END AS behind
    FROM known AS k
    WHERE k.was_found = 1
),

turned AS (
    SELECT
        j.agent,
        j.task_id,
        j.server_address,
        j.observed_at,
        j.fact_id,
        j.behind,
        lag(j.behind) OVER (
            PARTITION BY j.agent, j.task_id, j.observer, j.observer_name, j.client ORDER BY j.observed_at, j.fact_id
        ) AS behind_before,
        lag(j.server_address) OVER (
            PARTITION BY j.agent, j.task_id, j.observer, j.observer_name, j.client ORDER BY j.observed_at, j.fact_id
        ) AS address_before,
        lag(j.observed_at) OVER (
            PARTITION BY j.agent, j.task_id, j.observer, j.observer_name, j.client ORDER BY j.observed_at, j.fact_id
        ) AS before_at,
        lag(j.fact_id) OVER (
            PARTITION BY j.agent, j.task_id, j.observer, j.observer_name, j.client ORDER BY j.observed_at, j.fact_id
        ) AS fact_before,
        concat(j.observer, ' ', j.observer_name, ' ', j.client) AS reader
    FROM judged AS j
),

turns AS (
    SELECT
        t.agent,
        t.task_id,
        t.reader,
        t.behind,
        t.server_address,
        t.address_before,
        t.before_at,
        t.observed_at,
        t.fact_id,
        t.fact_before,
        row_number() OVER (PARTITION BY t.agent, t.task_id, t.reader ORDER BY t.observed_at, t.fact_id) AS nth
    FROM turned AS t
    WHERE (t.behind = '') <> (t.behind_before = '')
),

answering AS (
    SELECT
        a.agent,
        a.server_address,
        min(a.first_at) AS first_at
    FROM server_addresses AS a
    GROUP BY a.agent, a.server_address
),

splits AS (
    SELECT
        t.agent,
        t.task_id,
        t.reader,
        'in turn' AS kind,
        max(CASE WHEN t.nth = 1 THEN t.behind END) AS behind,
        max(CASE WHEN t.nth = 1 THEN t.address_before END) AS one_address,
        max(CASE WHEN t.nth = 1 THEN t.server_address END) AS other_address,
        max(CASE WHEN t.nth = 1 THEN t.fact_before END) AS ahead_fact_id,
        max(CASE WHEN t.nth = 1 THEN t.fact_id END) AS behind_fact_id,
        max(CASE WHEN t.nth = 2 THEN t.fact_id END) AS again_fact_id,
        max(CASE WHEN t.nth = $turns THEN t.observed_at END) AS observed_at,
        count(*) AS turns
    FROM turns AS t
    GROUP BY t.agent, t.task_id, t.reader
    HAVING count(*) >= $turns
    UNION ALL
    SELECT
        t.agent,
        t.task_id,
        t.reader,
        'two addresses' AS kind,
        t.behind,
        t.address_before AS one_address,
        t.server_address AS other_address,
        t.fact_before AS ahead_fact_id,
        t.fact_id AS behind_fact_id,
        '' AS again_fact_id,
        t.observed_at,
        CAST(1 AS BIGINT) AS turns
    FROM turns AS t
    INNER JOIN answering AS a ON t.agent = a.agent AND t.server_address = a.server_address
    WHERE t.nth = 1 AND t.address_before <> '' AND t.address_before <> t.server_address AND a.first_at < t.before_at
),

ranked AS (
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
        s.turns,
        row_number() OVER (PARTITION BY s.agent, s.task_id ORDER BY s.turns DESC NULLS LAST, s.reader, s.behind_fact_id) AS nth
    FROM splits AS s
)

SELECT
    r.agent,
    r.task_id,
    r.kind,
    r.behind,
    r.one_address,
    r.other_address,
    r.ahead_fact_id,
    r.behind_fact_id,
    r.again_fact_id,
    r.observed_at,
    r.turns
FROM ranked AS r
WHERE r.nth = 1
