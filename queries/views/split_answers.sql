-- title  = "Tasks for which an agent answers two different ends in turn"
-- by     = ["agent", "task_id"]
-- params = { changes = 3 }
--
-- Each end is told again after the other (`changes` at least): both stand, so that neither follows the other.

WITH answers AS (
    SELECT
        s.agent,
        s.task_id,
        s.state,
        s.observed_at,
        s.fact_id,
        lag(s.state) OVER (PARTITION BY s.agent, s.task_id ORDER BY s.observed_at, s.fact_id) AS state_before,
        lag(s.fact_id) OVER (PARTITION BY s.agent, s.task_id ORDER BY s.observed_at, s.fact_id) AS fact_before
    FROM task_statements AS s
    WHERE s.is_end AND s.speaker = 'server' AND s.origin IN ('reply', 'poll')
),

turns AS (
    SELECT
        a.agent,
        a.task_id,
        a.state,
        a.state_before,
        a.observed_at,
        a.fact_id,
        a.fact_before,
        row_number() OVER (PARTITION BY a.agent, a.task_id ORDER BY a.observed_at, a.fact_id) AS nth
    FROM answers AS a
    WHERE a.state <> a.state_before
)

SELECT
    t.agent,
    t.task_id,
    max(CASE WHEN t.nth = 1 THEN t.state_before END) AS one_state,
    max(CASE WHEN t.nth = 1 THEN t.state END) AS other_state,
    max(CASE WHEN t.nth = 1 THEN t.fact_before END) AS one_fact_id,
    max(CASE WHEN t.nth = 1 THEN t.fact_id END) AS other_fact_id,
    array_agg(t.fact_id ORDER BY t.observed_at, t.fact_id) AS answer_fact_ids,
    max(CASE WHEN t.nth = $changes THEN t.observed_at END) AS observed_at,
    count(*) AS changes
FROM turns AS t
GROUP BY t.agent, t.task_id
HAVING count(*) >= $changes
