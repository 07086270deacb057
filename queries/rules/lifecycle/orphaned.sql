-- title    = "A task has not moved for far longer than its agent's tasks take"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.state"]
-- summary  = "{agent}: {what}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "{advice}"
-- params   = { silence = "1 hour", pause = "7 days" }
-- marks    = { agent_profile = { on = ["agent"] } }
-- lasts    = true
--
-- ## What it finds
-- A task that has not ended and of which nothing new was told for an hour, or for ten times what nearly all tasks of its agent take if that is longer. Tasks
-- that wait for input have seven days. An agent none of whose tasks ever ends is one note, once it has twenty.
-- ## Why it matters
-- Nobody will end such a task: its worker is gone, or what it waited for came and was not taken. Callers hold money, locks and users for it.
-- ## First checks
-- 1. Read the task: an end now means that pushes or polls got lost, see terminal_undelivered.
-- 2. Look in the agent's log from the last change on for an error with the task's id.
-- 3. Cancel it if the agent says that it works; a cancel that changes nothing confirms the finding.
-- ## When it is wrong
-- When the task ended unseen; `likely` says that nobody read it after it became due.
-- ## What it cannot see
-- Work that goes on without a word.

WITH silent AS (
    SELECT
        o.agent,
        o.task_id,
        o.client,
        o.skill_id,
        o.state,
        o.state_fact_id,
        o.created_fact_id,
        o.changed_at,
        o.read_at,
        CASE
            WHEN o.state IN ('input-required', 'auth-required') THEN o.changed_at + CAST($pause AS INTERVAL)
            WHEN
                p.patience_s IS NOT NULL
                AND o.changed_at + CAST(concat(CAST(coalesce(p.patience_s, 0) AS VARCHAR), ' seconds') AS INTERVAL)
                > o.changed_at + CAST($silence AS INTERVAL)
                THEN o.changed_at + CAST(concat(CAST(coalesce(p.patience_s, 0) AS VARCHAR), ' seconds') AS INTERVAL)
            ELSE o.changed_at + CAST($silence AS INTERVAL)
        END AS due_at
    FROM open_tasks AS o
    LEFT JOIN agent_profile AS p ON o.agent = p.agent
    WHERE
        NOT coalesce(p.never_ends, FALSE)
        AND NOT EXISTS (SELECT 1 FROM lost_tasks AS l WHERE l.agent = o.agent AND l.task_id = o.task_id)
)

SELECT
    s.agent,
    s.task_id,
    s.client,
    s.skill_id,
    s.state,
    concat(s.task_id, ' is ', s.state, ' and has not moved since ', CAST(date_trunc('second', s.changed_at) AS VARCHAR)) AS what,
    CASE
        WHEN s.read_at >= s.due_at THEN 'it was read again after that, and nothing had changed'
        ELSE 'nothing was told of it any more'
    END AS why,
    concat('Read ', s.task_id, ' from ', s.agent, '; cancel it if it is still ', s.state, ', and submit the work again') AS advice,
    'warning' AS severity,
    CASE WHEN s.read_at >= s.due_at THEN 'confirmed' ELSE 'likely' END AS confidence,
    s.changed_at AS observed_at,
    s.changed_at AS first_seen,
    s.read_at AS last_seen,
    s.due_at,
    s.created_fact_id,
    s.state_fact_id
FROM silent AS s
UNION ALL
SELECT
    n.agent,
    n.task_id,
    '' AS client,
    '' AS skill_id,
    '' AS state,
    'no task of it has ever ended by itself' AS what,
    'all of its tasks that were seen are open' AS why,
    concat('Learn whether tasks of ', n.agent, ' are meant to end; until then their silence says nothing') AS advice,
    'info' AS severity,
    'likely' AS confidence,
    n.first_at AS observed_at,
    n.first_at AS first_seen,
    n.enough_at AS last_seen,
    n.due_at,
    n.first_fact_id AS created_fact_id,
    n.enough_fact_id AS state_fact_id
FROM never_ending AS n
