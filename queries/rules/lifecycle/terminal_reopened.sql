-- title    = "A task that had ended got another state"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.status_at or task_events.generation"]
-- summary  = "{task_id} on {agent} ended as {ended_state} and was {state} later"
-- suspect  = "remote-runtime"
-- because  = "the agent dates the later state after the end"
-- next     = "Read {task_id} from {agent} again, and go over what was done because it was {ended_state}"
--
-- ## What it finds
-- A task whose agent said that it completed, failed, was canceled or rejected, and to which the agent then gave another state with a later status time.
-- ## Why it matters
-- Who acted on the first end acted on something that is no longer true: a result delivered, then canceled; a failure reported, then undone.
-- ## First checks
-- 1. Look at the call just before the later state: a cancel of a task that had ended, or a message to it (see task_id_reused).
-- 2. No such call: look for a second worker or a restored store at the agent within the minutes between the two status times.
-- 3. Compare the ids of both lives: the same context means a reopened task, another one a reused id.
-- ## When it is wrong
-- When an agent stamps states with the time at which it sends them rather than that of the change.
-- ## What it cannot see
-- Agents that give no status times; see illegal_transition for those that tell it within one stream.

WITH ranked AS (
    SELECT
        s.agent,
        s.task_id,
        s.state,
        s.status_at,
        s.generation,
        s.fact_id,
        row_number() OVER (
            PARTITION BY s.agent, s.task_id ORDER BY s.generation NULLS LAST, s.status_at, s.observed_at, s.fact_id
        ) AS nth
    FROM task_statements AS s
    WHERE s.speaker = 'server' AND s.is_end AND (s.status_at IS NOT NULL OR s.generation IS NOT NULL)
),

later AS (
    SELECT
        e.agent,
        e.task_id,
        e.state AS ended_state,
        e.status_at AS ended_at,
        e.fact_id AS end_fact_id,
        s.state,
        s.status_at,
        s.observed_at,
        s.fact_id,
        row_number() OVER (
            PARTITION BY s.agent, s.task_id ORDER BY s.generation NULLS LAST, s.status_at, s.observed_at, s.fact_id
        ) AS nth
    FROM ranked AS e
    INNER JOIN task_statements AS s ON e.agent = s.agent AND e.task_id = s.task_id
    WHERE
        e.nth = 1 AND s.speaker = 'server' AND s.state <> e.state
        AND (
            (e.generation IS NOT NULL AND s.generation IS NOT NULL AND s.generation > e.generation)
            OR ((e.generation IS NULL OR s.generation IS NULL) AND s.status_at > e.status_at)
        )
)

SELECT
    l.agent,
    l.task_id,
    l.ended_state,
    l.state,
    l.ended_at,
    l.status_at AS reopened_at,
    'confirmed' AS confidence,
    l.observed_at,
    l.end_fact_id,
    l.fact_id AS later_fact_id
FROM later AS l
WHERE l.nth = 1 AND NOT EXISTS (SELECT 1 FROM split_answers AS t WHERE t.agent = l.agent AND t.task_id = l.task_id)
