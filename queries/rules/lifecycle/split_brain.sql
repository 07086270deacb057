-- title    = "Two statements that both stand disagree on how a task ended"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.state[origin=local]"]
-- summary  = "{task_id}: {one_side} says {one_state}, {other_side} says {other_state}"
-- suspect  = "client"
-- because  = "{why}"
-- next     = "Ask {agent} for {task_id} once more, take its answer as the truth, and correct the record that says {one_state}"
-- params   = { changes = 3 }
--
-- ## What it finds
-- A task for which the client's own verdict and the agent's last word are different terminal states, in either order (record 003), or a task that one agent
-- answers with two terminal states in turn.
-- ## Why it matters
-- Two state machines each believe to be right. What the one side stored as failed or partial, the other completed and may charge for.
-- ## First checks
-- 1. Did the client look at the card shortly before its verdict? Then see failed_by_card.
-- 2. Compare the ages of several such tasks: one constant age is a watchdog in the client.
-- 3. Two answers in turn: compare the addresses that answered; see replica_split.
-- ## When it is wrong
-- When a client logs a verdict on its own job and names it by the remote task's id.
-- ## What it cannot see
-- A client that tells nobody what it believes: without its event or span there is only one side.

WITH ends AS (
    SELECT
        s.agent,
        s.task_id,
        s.speaker,
        s.state,
        s.effective_at,
        s.observed_at,
        s.fact_id,
        s.origin,
        row_number() OVER (
            PARTITION BY s.agent, s.task_id, s.speaker
            ORDER BY s.effective_at DESC NULLS LAST, s.observed_at DESC NULLS LAST, s.fact_id
        ) AS nth_last
    FROM task_statements AS s
    WHERE s.is_end
),

sides AS (
    SELECT
        c.agent,
        c.task_id,
        'the client' AS one_side,
        c.state AS one_state,
        'the agent' AS other_side,
        s.state AS other_state,
        c.fact_id AS one_fact_id,
        s.fact_id AS other_fact_id,
        CASE WHEN c.observed_at > s.observed_at THEN c.observed_at ELSE s.observed_at END AS observed_at
    FROM ends AS c
    INNER JOIN ends AS s ON c.agent = s.agent AND c.task_id = s.task_id
    WHERE c.speaker = 'client' AND c.nth_last = 1 AND s.speaker = 'server' AND s.nth_last = 1 AND c.state <> s.state
),

answers AS (
    SELECT
        e.agent,
        e.task_id,
        e.state,
        e.observed_at,
        e.fact_id,
        lag(e.state) OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS state_before,
        lag(e.fact_id) OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS fact_before
    FROM ends AS e
    WHERE e.speaker = 'server' AND e.origin IN ('reply', 'poll')
),

turns AS (
    SELECT
        a.agent,
        a.task_id,
        min(a.state_before) AS one_state,
        max(a.state) AS other_state,
        max(a.fact_before) AS one_fact_id,
        max(a.fact_id) AS other_fact_id,
        max(a.observed_at) AS observed_at
    FROM answers AS a
    WHERE a.state <> a.state_before
    GROUP BY a.agent, a.task_id
    HAVING count(*) >= $changes
)

SELECT
    s.agent,
    s.task_id,
    s.one_side,
    s.one_state,
    s.other_side,
    s.other_state,
    'the client ended the task in its own books without the agent''s word' AS why,
    'client' AS suspect,
    'confirmed' AS confidence,
    s.observed_at,
    s.one_fact_id,
    s.other_fact_id
FROM sides AS s
UNION ALL
SELECT
    t.agent,
    t.task_id,
    'the agent' AS one_side,
    t.one_state,
    'the agent in other answers' AS other_side,
    t.other_state,
    'the agent answers the same question in two ways, in turn' AS why,
    'remote-runtime' AS suspect,
    'confirmed' AS confidence,
    t.observed_at,
    t.one_fact_id,
    t.other_fact_id
FROM turns AS t
WHERE NOT EXISTS (SELECT 1 FROM sides AS s WHERE s.agent = t.agent AND s.task_id = t.task_id)
