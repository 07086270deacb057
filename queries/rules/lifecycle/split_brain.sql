-- title    = "Two statements that both stand disagree on how a task ended"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.state"]
-- summary  = "{task_id}: {one_side} says {one_state}, {other_side} says {other_state}"
-- suspect  = "client"
-- because  = "{why}"
-- next     = "{advice}"
-- marks    = { split_ages = { on = ["agent"] } }
--
-- ## What it finds
-- A task for which the caller's own verdict and the agent's last word are different terminal states, in either order, or a task that one agent
-- answers with two terminal states in turn.
-- ## Why it matters
-- Two state machines each believe to be right. What the one side stored as failed or partial, the other completed and may charge for.
-- ## First checks
-- 1. Did the caller look at the card in the minute before its verdict? Then see failed_by_card.
-- 2. `watchdog_s` names an age at which several verdicts of this caller came: raise or drop that time-out, it measures patience and no outcome.
-- 3. Two answers in turn: compare the addresses that answered within the hour; see replica_split.
-- ## When it is wrong
-- When a caller logs a verdict on its own job and names it by the remote task's id.
-- ## What it cannot see
-- A caller that tells nobody what it believes: without its event or span there is only one side.

SELECT
    v.agent,
    v.task_id,
    v.client,
    'the client' AS one_side,
    v.client_state AS one_state,
    'the agent' AS other_side,
    v.server_state AS other_state,
    a.age_s AS watchdog_s,
    CASE
        WHEN a.age_s IS NOT NULL
            THEN
                concat(
                    'its verdicts on ', CAST(a.tasks AS VARCHAR), ' tasks all came ', CAST(a.age_s AS VARCHAR),
                    ' s after the message: a watchdog''s, not the agent''s word'
                )
        WHEN v.client_at < v.server_at THEN 'it gave its verdict before the agent had ended the task'
        ELSE 'it gave its verdict against what the agent had already said'
    END AS why,
    concat(
        'Ask ', v.agent, ' for ', v.task_id, ' once more, take its answer as the truth, and correct the record that says ', v.client_state
    ) AS advice,
    'client' AS suspect,
    'confirmed' AS confidence,
    CASE WHEN v.client_at > v.server_seen_at THEN v.client_at ELSE v.server_seen_at END AS observed_at,
    v.client_fact_id AS one_fact_id,
    v.server_fact_id AS other_fact_id
FROM split_verdicts AS v
LEFT JOIN split_ages AS a ON v.agent = a.agent AND v.age_s = a.age_s
UNION ALL
SELECT
    t.agent,
    t.task_id,
    '' AS client,
    'the agent' AS one_side,
    t.one_state,
    'the agent in other answers' AS other_side,
    t.other_state,
    CAST(NULL AS BIGINT) AS watchdog_s,
    'the agent answers the same question in two ways, in turn' AS why,
    concat('Find out which replica of ', t.agent, ' is wrong about ', t.task_id, ', and act on neither answer until then') AS advice,
    'remote-runtime' AS suspect,
    'confirmed' AS confidence,
    t.observed_at,
    t.one_fact_id,
    t.other_fact_id
FROM split_answers AS t
WHERE NOT EXISTS (SELECT 1 FROM split_verdicts AS s WHERE s.agent = t.agent AND s.task_id = t.task_id)
